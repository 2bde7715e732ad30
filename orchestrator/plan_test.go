package orchestrator_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

const (
	edge         = graph.ID("composition/edge")
	back         = graph.ID("composition/back")
	mail         = graph.ID("composition/default-mail")
	dependencies = graph.ID("dependencies/edge")
)

func TestPlanListsImagesOfAllCompositions(t *testing.T) {
	s := newSite(t, shop, installing)
	plan := s.mustPlan()
	var got []string
	for _, step := range plan.Steps {
		got = append(got, step.Reference.Repository+" "+string(step.ID))
		tag, isDependencies := strings.CutPrefix(step.Reference.Tag, "deps-")
		if len(tag) != 32 || isDependencies != (step.ID == dependencies) {
			t.Errorf("%s has tag %q", step.ID, step.Reference.Tag)
		}
	}
	want := []string{
		"registry.test/shop/composition-edge dependencies/edge",
		"registry.test/shop/composition-back composition/back",
		"registry.test/shop/composition-default-mail composition/default-mail",
		"registry.test/shop/composition-edge composition/edge",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Any single change to what an image is made of moves exactly the images that
// are made of it; what is listed as no input moves none.
func TestKeysMoveWithTheirInputs(t *testing.T) {
	everything := []graph.ID{back, mail, edge, dependencies}
	context := func(old, now string) func(*site) {
		return func(s *site) {
			s.write("context.toa.yaml", strings.Replace(shop["context.toa.yaml"], old, now, 1))
		}
	}
	tests := map[string]struct {
		change func(*site)
		want   []graph.ID
	}{
		"a source":        {func(s *site) { s.write("components/mail/operations/send.js", "sent") }, []graph.ID{mail}},
		"a shared source": {func(s *site) { s.write("components/store.goods/operations/get.js", "got") }, []graph.ID{back, edge}},
		"a manifest":      {func(s *site) { s.write("components/mail/manifest.toa.yaml", "name: mail\nversion: 2.0.0\n") }, []graph.ID{mail}},
		"a package": {func(s *site) {
			s.write("components/store.orders/package.json", `{"dependencies": {"left-pad": "1.2.0", "near": "file:../../libs/near"}}`)
		}, []graph.ID{edge, dependencies}},
		"a lockfile":        {func(s *site) { s.write("components/store.orders/package-lock.json", `{"lockfileVersion": 2}`) }, []graph.ID{edge, dependencies}},
		"npm's settings":    {func(s *site) { s.write("components/store.orders/.npmrc", "registry=https://npm.test") }, []graph.ID{edge, dependencies}},
		"a local package":   {func(s *site) { s.write("libs/near/index.js", "2") }, []graph.ID{edge, dependencies}},
		"its package.json":  {func(s *site) { s.write("libs/near/package.json", `{"version": "2.0.0"}`) }, []graph.ID{edge, dependencies}},
		"its lockfile":      {func(s *site) { s.write("libs/near/package-lock.json", `{}`) }, []graph.ID{edge, dependencies}},
		"one below it":      {func(s *site) { s.write("libs/far.tgz", "2") }, []graph.ID{edge, dependencies}},
		"the module format": {func(s *site) { s.write("package.json", `{"type": "module"}`) }, []graph.ID{back, mail, edge}},
		"a base":            {context("image: scratch", "image: b@sha256:"+strings.Repeat("a", 64)), everything},
		"platforms":         {context("[linux/amd64]", "[linux/amd64, linux/arm64]"), everything},
		"a run line":        {context("image: scratch", "image: scratch, run: make"), []graph.ID{back, mail, edge, dependencies, "dependencies/back", "dependencies/default-mail"}},
		"npm's registry":    {context("registry:", "runtime: {registry: 'https://npm.test'}\nregistry:"), []graph.ID{edge, dependencies}},
		"npm's proxy":       {context("registry:", "runtime: {proxy: 'https://npm.test'}\nregistry:"), []graph.ID{edge, dependencies}},
		"scripts":           {context("image: scratch", "image: scratch, scripts: ignore"), []graph.ID{edge, dependencies}},
		"arguments":         {context("image: scratch", "image: scratch, arguments: [TOKEN]"), []graph.ID{edge, dependencies}},
		"plain arguments":   {context("image: scratch", "image: scratch, plain: true, arguments: [STAGE]"), []graph.ID{edge, dependencies}},
		"members":           {context("[store.orders, store.goods]", "[store.orders]"), []graph.ID{edge}},

		"order of members":   {context("[store.orders, store.goods]", "[store.goods, store.orders]"), nil},
		"the registry":       {context("base: registry.test", "base: elsewhere.test/x"), nil},
		"version, replicas":  {context("0.1.0", "0.2.0\ndescription: hello"), nil},
		"an ignored file":    {func(s *site) { s.write("components/mail/send.test.js", "test") }, nil},
		"one of a package":   {func(s *site) { s.write("libs/near/node_modules/left-pad/index.js", "test") }, nil},
		"a file outside":     {func(s *site) { s.write("README.md", "hello") }, nil},
		"times":              {func(s *site) { touch(s) }, nil},
		"another directory":  {func(s *site) { move(s) }, nil},
		"other mode bits":    {func(s *site) { _ = os.Chmod(filepath.Join(s.root, "components/mail/operations/send.js"), 0o600) }, nil},
		"an empty directory": {func(s *site) { _ = os.Mkdir(filepath.Join(s.root, "components/mail/empty"), 0o755) }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, shop, installing)
			before := keys(s.mustPlan())
			test.change(s)
			slices.Sort(test.want)
			if got := moved(before, keys(s.mustPlan())); !slices.Equal(got, test.want) {
				t.Errorf("moved %q\nwant  %q", got, test.want)
			}
		})
	}
}

func touch(s *site) {
	_ = filepath.WalkDir(s.root, func(path string, _ os.DirEntry, _ error) error {
		return os.Chtimes(path, time.Now(), time.Now().Add(-48*time.Hour))
	})
}

func move(s *site) {
	to := filepath.Join(s.TempDir(), "elsewhere")
	if err := os.Rename(s.root, to); err != nil {
		s.Fatal(err)
	}
	s.root = to
}

func TestPlanNeedsPinnedBases(t *testing.T) {
	s := newSite(t, shop)
	s.write("context.toa.yaml", strings.Replace(shop["context.toa.yaml"], "scratch", "base:1", 1))
	_, err := s.plan(nil)
	if want := "base image base:1 is not pinned for linux/amd64 in toa.lock"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	s.lock.Set("base:1", "linux/amd64", "sha256:"+strings.Repeat("1", 64))
	before := keys(s.mustPlan())
	s.lock.Set("base:1", "linux/amd64", "sha256:"+strings.Repeat("2", 64))
	if got := moved(before, keys(s.mustPlan())); len(got) != 3 {
		t.Errorf("a moved base moves %q", got)
	}
}

func TestPlanSaysWhy(t *testing.T) {
	s := newSite(t, shop)
	reason := func(id graph.ID) string {
		step, ok := s.mustPlan().Step(id)
		if !ok {
			t.Fatalf("no step %s", id)
		}
		return step.Reason
	}
	if got, want := reason(mail), "not known to be published"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if summary := s.build(nil); !summary.OK {
		t.Fatal(summary.Err)
	}
	if got, want := reason(mail), "published"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.write("components/mail/operations/send.js", "sent")
	s.write("components/mail/operations/new.js", "new")
	if err := os.Chmod(filepath.Join(s.root, "components/mail/manifest.toa.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, want := reason(mail), "default-mail/manifest.toa.yaml is now executable, default-mail/operations/new.js was added, 1 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	plan, err := s.plan(func(p *orchestrator.Planner) { p.Rebuild = true })
	if err != nil {
		t.Fatal(err)
	}
	if step, _ := plan.Step(edge); step.Cached || step.Reason != "a rebuild was asked for" {
		t.Errorf("with Rebuild: cached %t, %q", step.Cached, step.Reason)
	}
}
