package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

// shop is two declared compositions over three components, one of which both
// hold, and one derived composition.
var shop = map[string]string{
	"context.toa.yaml": `
name: shop
version: 0.1.0
registry:
  base: registry.test
  platforms: [linux/amd64]
  build: {image: scratch}
compositions:
  - {name: edge, components: [store.orders, store.goods]}
  - {name: back, components: [store.goods]}
`,
	"components/store.orders/manifest.toa.yaml": "namespace: store\nname: orders\n",
	"components/store.orders/operations/add.js": "add",
	"components/store.goods/manifest.toa.yaml":  "namespace: store\nname: goods\n",
	"components/store.goods/operations/get.js":  "get",
	"components/mail/manifest.toa.yaml":         "name: mail\n",
	"components/mail/operations/send.js":        "send",
}

// installing has packages to install in one component, some of the workspace.
var installing = map[string]string{
	"components/store.orders/package.json":      `{"dependencies": {"left-pad": "1.3.0", "near": "file:../../libs/near"}}`,
	"components/store.orders/package-lock.json": `{"lockfileVersion": 3}`,
	"libs/near/package.json":                    `{"dependencies": {"far": "file:../far.tgz"}}`,
	"libs/near/index.js":                        "1",
	"libs/far.tgz":                              "1",
}

// site is a workspace on disk with the cache and registry that it is built against.
type site struct {
	*testing.T
	root, cache string
	registry    *registry
	builder     *builder
	env         string
	lock        *workspace.Lock
}

func newSite(t *testing.T, layers ...map[string]string) *site {
	t.Helper()
	s := &site{T: t, root: t.TempDir(), cache: t.TempDir(), registry: newRegistry(), builder: &builder{}, lock: &workspace.Lock{}}
	for _, files := range layers {
		for path, content := range files {
			s.write(path, content)
		}
	}
	return s
}

func (s *site) write(path, content string) {
	s.Helper()
	full := filepath.Join(s.root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		s.Fatal(err)
	}
}

func (s *site) index() *cache.Index {
	return cache.NewIndex(cache.OpenDB(filepath.Join(s.cache, "db", "index.db"), func(w string) { s.Error("warning:", w) }))
}

func (s *site) plan(change func(*orchestrator.Planner)) (*orchestrator.Plan, error) {
	s.Helper()
	ws, err := workspace.Load(os.DirFS(s.root), s.env, nil)
	if err != nil {
		s.Fatal(err)
	}
	files, err := cache.OpenFiles(cache.OpenDB(filepath.Join(s.cache, "db", "files.db"), nil), s.root)
	if err != nil {
		s.Fatal(err)
	}
	defer files.Close()
	defer files.Save()
	planner := orchestrator.Planner{
		Workspace: ws, Root: s.root, Files: files, Index: s.index(), Lock: s.lock, Registry: ws.Context.Registry.Base,
	}
	if change != nil {
		change(&planner)
	}
	return planner.Plan(s.Context())
}

func (s *site) mustPlan() *orchestrator.Plan {
	s.Helper()
	plan, err := s.plan(nil)
	if err != nil {
		s.Fatal(err)
	}
	return plan
}

// build plans and builds as a new process would.
func (s *site) build(change func(*orchestrator.Orchestrator)) orchestrator.Summary {
	s.Helper()
	s.registry.reset()
	s.builder.reset()
	o := orchestrator.Orchestrator{Index: s.index(), Builder: s.builder, Registry: s.registry}
	if change != nil {
		change(&o)
	}
	return o.Build(s.Context(), s.mustPlan())
}

func keys(p *orchestrator.Plan) map[graph.ID]cache.Key {
	all := map[graph.ID]cache.Key{}
	for _, step := range p.Steps {
		all[step.ID] = step.Key
	}
	return all
}

// moved lists the images whose keys differ.
func moved(before, after map[graph.ID]cache.Key) []graph.ID {
	var ids []graph.ID
	for id, key := range after {
		if before[id] != key {
			ids = append(ids, id)
		}
	}
	for id := range before {
		if _, ok := after[id]; !ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// builder makes artifacts of keys and counts; it fails where it is told to.
type builder struct {
	mu    sync.Mutex
	built []graph.ID
	fail  map[graph.ID]error
	hook  func(ctx context.Context, step orchestrator.Step) error
}

type artifact string

func (a artifact) Digest() string { return string(a) }

func (b *builder) reset() { b.built = nil }

func (b *builder) Build(ctx context.Context, step orchestrator.Step, deps []orchestrator.Result) (orchestrator.Artifact, error) {
	if b.hook != nil {
		if err := b.hook(ctx, step); err != nil {
			return nil, err
		}
	}
	if err := b.fail[step.ID]; err != nil {
		return nil, err
	}
	for _, dep := range deps {
		if dep.Reference.Digest == "" {
			return nil, fmt.Errorf("%s has no digest", dep.ID)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.built = append(b.built, step.ID)
	return artifact("sha256:" + step.Key.String()), nil
}

func (b *builder) names() []graph.ID { return slices.Sorted(slices.Values(b.built)) }

// registry keeps tags in memory and counts what it is asked. The real ones are
// tested where they are; here it is a question of who asks what, and when.
type registry struct {
	mu       sync.Mutex
	tags     map[string]string
	requests int64
	down     error
}

func newRegistry() *registry { return &registry{tags: map[string]string{}} }

func (r *registry) reset() { r.requests = 0 }

func (r *registry) Has(_ context.Context, ref orchestrator.Reference) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if r.down != nil {
		return "", r.down
	}
	digest, ok := r.tags[ref.Repository+":"+ref.Tag]
	if !ok {
		return "", cache.ErrNotFound
	}
	return digest, nil
}

func (r *registry) Publish(_ context.Context, step orchestrator.Step, image orchestrator.Artifact) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	name := step.Reference.Repository + ":" + step.Reference.Tag
	if taken, ok := r.tags[name]; ok {
		return taken, nil
	}
	r.tags[name] = image.Digest()
	return image.Digest(), nil
}

func (r *registry) Traffic() orchestrator.Traffic {
	r.mu.Lock()
	defer r.mu.Unlock()
	return orchestrator.Traffic{Requests: r.requests}
}

func (r *registry) delete(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.tags, func(name, _ string) bool { return filepath.Base(name[:len(name)-33]) == id })
}

// releaser keeps the last chart that was released, and counts.
type releaser struct {
	made, asked int
	inputs      cache.Key
	checked     []*chart.Chart
	released    *chart.Chart
}

func (r *releaser) Current(_ context.Context, inputs cache.Key) (orchestrator.Release, bool, error) {
	r.asked++
	return orchestrator.Release{Status: orchestrator.ReleaseUnchanged}, r.inputs == inputs, nil
}

func (r *releaser) Check(_ context.Context, c *chart.Chart) error {
	r.checked = append(r.checked, c)
	return nil
}

func (r *releaser) Release(_ context.Context, inputs cache.Key, c *chart.Chart) (orchestrator.Release, error) {
	r.made++
	r.inputs, r.released = inputs, c
	return orchestrator.Release{Status: orchestrator.ReleasePackaged}, nil
}

var errBroken = errors.New("broken")
