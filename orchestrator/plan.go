package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
	"toa.io/toa/templates"
	"toa.io/toa/workspace"
)

// Plan is what a build would do and why. It is made offline and can be printed.
type Plan struct {
	// Context is the context's name.
	Context string
	// Registry is the base that references start with, or empty for the layout on disk.
	Registry string
	// Graph holds components, dependencies images and compositions.
	Graph *graph.Graph
	// Steps are the images, dependencies before dependents.
	Steps []Step
	// Trees are the files of each component, by component ID.
	Trees map[string]*cache.Tree
	// Versions are those of the component map, by component ID.
	Versions map[string]string
	// Published are images of services that run as their makers publish them.
	Published map[graph.ID]Reference

	// released is the key of the release of a plan that stands.
	released cache.Key
}

// Step returns the step of an image.
func (p *Plan) Step(id graph.ID) (Step, bool) {
	for _, s := range p.Steps {
		if s.ID == id {
			return s, true
		}
	}
	return Step{}, false
}

// Changes tells whether a build would build anything.
func (p *Plan) Changes() bool {
	for _, s := range p.Steps {
		if !s.Cached {
			return true
		}
	}
	return false
}

// Restrict keeps the named images, and what they stand on. A name is an ID, or
// that of a composition.
func (p *Plan) Restrict(names []string) error {
	wanted := map[graph.ID]bool{}
	for _, name := range names {
		step, err := p.Find(name)
		if err != nil {
			return err
		}
		wanted[step.ID] = true
		for _, id := range p.Graph.Dependencies(step.ID) {
			wanted[id] = true
		}
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool { return !wanted[s.ID] })
	return nil
}

// Rebuild has those images built anew that are picked.
func (p *Plan) Rebuild(pick func(Step) bool) {
	for i := range p.Steps {
		if pick(p.Steps[i]) {
			p.Steps[i].rebuild()
		}
	}
}

// Find returns the step that a person means by an ID, or by the name of a
// composition alone. It returns a *NoImageError if there is none.
func (p *Plan) Find(name string) (Step, error) {
	for _, id := range []graph.ID{graph.ID(name), graph.NewID(KindComposition, name)} {
		if step, ok := p.Step(id); ok {
			return step, nil
		}
	}
	missing := &NoImageError{Name: name}
	for _, s := range p.Steps {
		missing.Known = append(missing.Known, s.ID)
	}
	return Step{}, missing
}

// NoImageError is a name that no image of the plan has.
type NoImageError struct {
	Name  string
	Known []graph.ID
}

func (e *NoImageError) Error() string { return fmt.Sprintf("there is no image %q", e.Name) }

// Hint lists images that there are.
func (e *NoImageError) Hint() string {
	const shown = 10
	var names []string
	for _, id := range e.Known[:min(shown, len(e.Known))] {
		names = append(names, string(id))
	}
	if more := len(e.Known) - shown; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return "images are " + strings.Join(names, ", ")
}

// Mistake is true: it is found before anything is touched.
func (*NoImageError) Mistake() bool { return true }

// Files tells what directories and files hash to; *cache.Files is one.
type Files interface {
	Tree(rules cache.Rules) (*cache.Tree, error)
	Digest(path string) (cache.Key, error)
}

// Bases tells which digest a base reference is pinned to; *workspace.Lock is one.
type Bases interface {
	Digest(reference, platform string) (string, bool)
}

// Planner makes plans. It changes nothing, and sends nothing but what Shared does.
type Planner struct {
	Workspace *workspace.Workspace
	// Root is the workspace's directory, absolute.
	Root  string
	Files Files
	Index Index
	Lock  Bases
	// Registry is the base of references, or empty for the layout on disk.
	Registry string
	// Units are what runs; nil means the compositions only.
	Units []Unit
	// Installed finds packages whose services are built.
	Installed func(reference string) (*workspace.Installed, error)
	// Ignore are the patterns of the workspace's own .toaignore.
	Ignore []string
	// Templates are the workspace's own Dockerfile templates, by kind of image.
	// Mono is a composition where it has none of its own.
	Templates map[string]string
	// Rebuild builds every image whatever is published.
	Rebuild bool
	// Epoch is Recipe.Epoch of every image.
	Epoch int64
	// Shared adds to the index what other machines have published. It is called
	// once where the index misses an image, and is then all that planning sends;
	// nil means that nothing is sent.
	Shared func(context.Context)
	// Jobs bounds how many directories are hashed at a time; default: processors.
	Jobs int
}

// node is what planning finds out of one target.
type node struct {
	tree *cache.Tree // of a component
	step *Step       // of an image
}

// Plan hashes every input and looks every image up in the index.
func (p Planner) Plan(ctx context.Context) (*Plan, error) {
	drafts, targets, err := p.draft()
	if err != nil {
		return nil, err
	}
	g, err := graph.New(targets)
	if err != nil {
		return nil, err
	}
	jobs := p.Jobs
	if jobs == 0 {
		jobs = runtime.NumCPU()
	}
	components := p.componentsByTarget()
	nodes, err := graph.Walk(ctx, g, jobs, func(_ context.Context, t graph.Target, deps []node) (node, error) {
		if t.ID.Kind() == KindComponent {
			tree, err := p.tree(components[t.ID])
			return node{tree: tree}, err
		}
		step, err := p.complete(drafts[t.ID], deps)
		return node{step: step}, err
	})
	if err != nil {
		return nil, err
	}
	plan := p.assemble(g, nodes, components)
	p.consult(ctx, plan)
	p.explain(plan)
	for u := range p.units {
		if !p.published(u) {
			continue
		}
		if plan.Published[u.ID], err = p.publishedReference(u); err != nil {
			return nil, err
		}
	}
	return plan, nil
}

func (p Planner) componentsByTarget() map[graph.ID]*workspace.Component {
	components := make(map[graph.ID]*workspace.Component, len(p.Workspace.Components))
	for _, c := range p.Workspace.Components {
		components[componentID(c)] = c
	}
	return components
}

func (p Planner) assemble(g *graph.Graph, nodes []node, components map[graph.ID]*workspace.Component) *Plan {
	plan := &Plan{
		Context:  p.Workspace.Context.Name,
		Registry: p.Registry,
		Graph:    g,
		Trees:    make(map[string]*cache.Tree, len(components)),
		Versions: make(map[string]string, len(components)),

		Published: map[graph.ID]Reference{},
	}
	for i, t := range g.Targets() {
		if step := nodes[i].step; step != nil {
			plan.Steps = append(plan.Steps, *step)
			continue
		}
		c := components[t.ID]
		plan.Trees[c.ID] = nodes[i].tree
		if plan.Versions[c.ID] = c.Version; c.Version == "" {
			plan.Versions[c.ID] = nodes[i].tree.Key.Tag()
		}
	}
	plan.spareDependencies()
	return plan
}

// needed are the targets that images to be built depend on.
func (p *Plan) needed() map[graph.ID]bool {
	needed := map[graph.ID]bool{}
	for i := range p.Steps {
		if s := &p.Steps[i]; !s.Cached {
			for _, id := range p.Graph.Dependencies(s.ID) {
				needed[id] = true
			}
		}
	}
	return needed
}

// spareDependencies marks dependencies images that nothing to be built needs:
// they are not asked for, even where the index has lost them.
func (p *Plan) spareDependencies() {
	needed := p.needed()
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.ID.Kind() == KindDependencies && !s.Cached && !s.Anew && !needed[s.ID] {
			s.Cached, s.Reason = true, "not needed: what stands on it is published"
		}
	}
}

// Rules say which files of a component are hashed and copied.
func (p Planner) Rules(c *workspace.Component) cache.Rules {
	return cache.Rules{
		Dir:    c.Dir,
		Always: []string{workspace.ManifestFile},
		Files:  c.Files,
		Ignore: c.Ignore,
		Root:   p.Ignore,
	}
}

// tree lists the files of a component as an image holds them.
func (p Planner) tree(c *workspace.Component) (*cache.Tree, error) {
	tree, err := p.Files.Tree(p.Rules(c))
	if err != nil || c.HasPackage {
		return tree, err
	}
	return tree.With(cache.Generated("package.json", packageJSON(c))), nil
}

// packageJSON is what makes Node read a component's files as its workspace
// does: the module format comes from the nearest package.json above.
func packageJSON(c *workspace.Component) []byte {
	return []byte(`{"name":"` + c.Label + `","private":true,"type":"` + c.Module + `"}` + "\n")
}

// complete gives a draft its sources, digests and key, and looks it up.
func (p Planner) complete(d *draft, deps []node) (*Step, error) {
	step := d.step
	trees := map[string]*cache.Tree{}
	for i, id := range d.needs {
		if deps[i].step != nil {
			step.Dependencies = deps[i].step.Key
		} else {
			trees[id.Name()] = deps[i].tree
		}
	}
	for _, c := range d.members {
		step.Sources = append(step.Sources, Source{
			Label:     c.Label,
			Component: c.ID,
			Dir:       filepath.Join(p.Root, filepath.FromSlash(c.Dir)),
			Version:   c.Version,
			Tree:      trees[c.Label],
		})
	}
	if d.installed != nil {
		source, err := p.packageSource(d.installed)
		if err != nil {
			return nil, err
		}
		step.Sources = append(step.Sources, source)
	}
	if err := p.digestPackages(d, &step); err != nil {
		return nil, err
	}
	step.Key = stepKey(step)
	step.Reference.Tag = TagOf(step.ID, step.Key)
	p.lookUp(&step)
	return &step, nil
}

// packageSource is an installed package as the image of its service holds it:
// its content counts, not only its version.
func (p Planner) packageSource(installed *workspace.Installed) (Source, error) {
	tree, err := p.Files.Tree(cache.Rules{Dir: installed.Dir, Always: []string{"package.json"}})
	return Source{
		Component: installed.Dir,
		Dir:       filepath.Join(p.Root, filepath.FromSlash(installed.Dir)),
		Version:   installed.Version,
		Tree:      tree,
	}, err
}

// digestPackages fills in what the installs of a dependencies image are made of.
func (p Planner) digestPackages(d *draft, step *Step) error {
	for i := range step.Recipe.Installs {
		install, dir := &step.Recipe.Installs[i], d.dirs[i]
		if err := p.digest(path.Join(dir, "package.json"), &install.Package); err != nil {
			return err
		}
		var member *workspace.Component // an installed package is none, and depends on none of the workspace
		if len(d.members) > 0 {
			member = d.members[i]
			if err := p.addLocals(member.Locals, install, &step.Sources[i]); err != nil {
				return err
			}
		}
		if err := p.digestSettings(dir, member, install, &step.Sources[i]); err != nil {
			return err
		}
	}
	return nil
}

// digestSettings fills in the lockfile and npm's settings: the directory's own,
// or those of the repository that it is of.
func (p Planner) digestSettings(dir string, member *workspace.Component, install *templates.Install, source *Source) error {
	settings := []string{path.Join(dir, ".npmrc")}
	switch {
	case member != nil && member.Shared != nil:
		shared := member.Shared
		source.Shared = &SharedLock{Path: filepath.Join(p.Root, filepath.FromSlash(shared.Path)), Member: shared.Member}
		install.Lock = shared.Digest
		settings = append(settings, path.Join(path.Dir(shared.Path), ".npmrc"))
	case install.LockName != "":
		if err := p.digest(path.Join(dir, install.LockName), &install.Lock); err != nil {
			return err
		}
	}
	for _, file := range settings {
		if err := p.digest(file, &install.Config); !errors.Is(err, cache.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (p Planner) digest(file string, digest *string) error {
	key, err := p.Files.Digest(file)
	if err == nil {
		*digest = key.String()
	}
	return err
}

// addLocals digests the packages of the workspace among what is installed.
func (p Planner) addLocals(locals []workspace.Local, install *templates.Install, source *Source) error {
	for _, one := range locals {
		local, digest, err := p.local(one)
		if err != nil {
			return err
		}
		source.Locals = append(source.Locals, local)
		install.Locals = append(install.Locals, templates.Local{Name: one.Name, Digest: digest.String()})
	}
	return nil
}

// local lists the files of a package. Its lockfile is one of them: it says
// which packages it needs in turn.
func (p Planner) local(one workspace.Local) (Local, cache.Key, error) {
	local := Local{Path: filepath.Join(p.Root, filepath.FromSlash(one.Path))}
	if one.Archive {
		digest, err := p.Files.Digest(one.Path)
		return local, digest, err
	}
	tree, err := p.Files.Tree(cache.Rules{
		Dir:    one.Path,
		Always: append([]string{"package.json"}, workspace.Lockfiles...),
		Root:   p.Ignore,
	})
	if err != nil {
		return local, cache.Key{}, err
	}
	local.Tree = tree
	return local, tree.Key, nil
}

// DependenciesPrefix begins the tags of dependencies images, which share the
// repository of the image that stands on them.
const DependenciesPrefix = "deps-"

// TagOf is the tag of an image with a key.
func TagOf(id graph.ID, key cache.Key) string {
	if id.Kind() == KindDependencies {
		return DependenciesPrefix + key.Tag()
	}
	return key.Tag()
}

// lookUp finds out whether the image is known to be published, and if not why
// it has to be built.
func (p Planner) lookUp(s *Step) {
	host, repository := RegistryHost(p.Registry), s.Reference.Repository
	latest, err := p.Index.Latest(host, repository, string(s.ID))
	known := err == nil
	if known {
		if last, err := p.Index.Get(host, repository, latest); err == nil {
			s.Previous = last.Digest
		}
	}
	entry, err := p.Index.Get(host, repository, s.Key)
	switch {
	case err == nil && !p.Rebuild:
		s.Cached, s.Reason = true, "published"
		s.Reference.Digest, s.VerifiedAt = entry.Digest, entry.VerifiedAt
	case p.Rebuild:
		s.rebuild()
	case known && latest != s.Key:
		s.Reason = inputsChanged
	case known:
		s.Reason = "it is gone from the registry"
	default:
		s.Reason = "not known to be published"
	}
}

// rebuild has the image built whatever is published.
func (s *Step) rebuild() {
	s.Anew, s.Cached, s.Reference.Digest, s.Reason = true, false, "", "a rebuild was asked for"
}

// inputsChanged is the reason of steps that were published with other inputs,
// until it is found out with which.
const inputsChanged = "its inputs changed"

// explain finds out what changed of all images at once: the index is read once.
func (p Planner) explain(plan *Plan) {
	host := RegistryHost(p.Registry)
	var changed []*Step
	var latest []cache.Published
	for i := range plan.Steps {
		s := &plan.Steps[i]
		if s.Reason != inputsChanged {
			continue
		}
		if key, err := p.Index.Latest(host, s.Reference.Repository, string(s.ID)); err == nil {
			changed, latest = append(changed, s), append(latest, cache.Published{Repository: s.Reference.Repository, Key: key})
		}
	}
	if len(changed) == 0 {
		return
	}
	for i, before := range p.Index.InputsOf(host, latest) {
		if before != nil {
			changed[i].Reason = summarize(Compare(before, Inputs(*changed[i])))
		}
	}
}

// LayoutRegistry stands for the layout on disk in the rows of the index.
const LayoutRegistry = "oci-layout"

// RegistryHost is the part of a registry base that rows of the index name.
func RegistryHost(base string) string {
	if base == "" {
		return LayoutRegistry
	}
	host, _, _ := strings.Cut(base, "/")
	return host
}

// UnpinnedError says that the plan cannot be made offline: a base image has no
// digest in toa.lock.
type UnpinnedError struct{ Reference, Platform string }

func (e *UnpinnedError) Error() string {
	return "base image " + e.Reference + " is not pinned for " + e.Platform + " in " + workspace.LockFile
}

// Hint says how to pin it.
func (e *UnpinnedError) Hint() string {
	return "run `toa lock update`, and commit " + workspace.LockFile
}

// Mistake is true: it is found before anything is touched.
func (*UnpinnedError) Mistake() bool { return true }

// age is how long ago the registry last said that it holds the image.
func (s Step) age(now time.Time) time.Duration { return now.Sub(s.VerifiedAt) }
