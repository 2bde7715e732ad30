package orchestrator_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

const explorer = graph.ID("service/introspection-explorer")

// serving has a service of its own beside the compositions, or mono instead.
var serving = []orchestrator.Unit{
	{ID: "composition/back"},
	{ID: "composition/default-mail"},
	{ID: "composition/edge"},
	{ID: explorer, Service: &orchestrator.Service{Package: "@toa.io/extensions.introspection", Image: "ghcr.io/toa-io/explorer"}},
}

var explorerPackage = map[string]string{
	"node_modules/@toa.io/extensions.introspection/package.json": `{"version": "1.0.0"}`,
	"node_modules/@toa.io/extensions.introspection/index.js":     "1",
}

func withUnits(s *site, units []orchestrator.Unit) func(*orchestrator.Planner) {
	return func(p *orchestrator.Planner) {
		p.Units = units
		p.Installed = func(reference string) (*workspace.Installed, error) {
			return workspace.FindInstalled(os.DirFS(s.root), reference)
		}
	}
}

func (s *site) unitPlan(units []orchestrator.Unit) *orchestrator.Plan {
	s.Helper()
	plan, err := s.plan(withUnits(s, units))
	if err != nil {
		s.Fatal(err)
	}
	return plan
}

func TestServiceIsBuiltOfItsPackage(t *testing.T) {
	s := newSite(t, shop, explorerPackage)
	before := s.unitPlan(serving)
	step, ok := before.Step(explorer)
	if !ok || step.Reference.Repository != "registry.test/shop/extension-introspection-explorer" || step.Recipe.Cmd != "toa serve . --map /etc/toa/components.json" {
		t.Fatalf("%+v", step)
	}
	s.write("node_modules/@toa.io/extensions.introspection/index.js", "2") // under the same version
	if got := moved(keys(before), keys(s.unitPlan(serving))); !slices.Equal(got, []graph.ID{explorer}) {
		t.Errorf("moved %q", got)
	}
	if err := os.RemoveAll(s.root + "/node_modules"); err != nil {
		t.Fatal(err)
	}
	_, err := s.plan(withUnits(s, serving))
	if err == nil || !strings.Contains(err.Error(), "@toa.io/extensions.introspection is not installed") {
		t.Errorf("without the package: %v", err)
	}
}

func TestPublishedServiceIsPinnedAndNotBuilt(t *testing.T) {
	s := newSite(t, shop)
	s.write("context.toa.yaml", strings.Replace(shop["context.toa.yaml"], "registry:\n", "registry:\n  services: published\n", 1))
	if _, err := s.plan(withUnits(s, serving)); err == nil || !strings.Contains(err.Error(), "ghcr.io/toa-io/explorer:1.0.0-alpha.306 is not pinned") {
		t.Fatalf("unpinned: %v", err)
	}
	digest := "sha256:" + strings.Repeat("1", 64)
	s.lock.Set("ghcr.io/toa-io/explorer:1.0.0-alpha.306", workspace.AllPlatforms, digest)
	plan := s.unitPlan(serving)
	if _, built := plan.Step(explorer); built {
		t.Error("the service is built")
	}
	if got, want := plan.Published[explorer].String(), "ghcr.io/toa-io/explorer:1.0.0-alpha.306@"+digest; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMonoHoldsEverything(t *testing.T) {
	s := newSite(t, shop, installing)
	plan := s.unitPlan([]orchestrator.Unit{{ID: orchestrator.Mono, Packages: map[string]string{"b": "2", "a": "1"}}})
	step, _ := plan.Step(orchestrator.Mono)
	var labels []string
	for _, c := range step.Recipe.Copies {
		labels = append(labels, c.Label)
	}
	if want := []string{"default-mail", "store-goods", "store-orders"}; !slices.Equal(labels, want) {
		t.Errorf("copies %q, want %q", labels, want)
	}
	if step.Reference.Repository != "registry.test/shop/mono" || step.Recipe.Cmd != "toa mono * --map /etc/toa/components.json" {
		t.Errorf("%s, %s", step.Reference.Repository, step.Recipe.Cmd)
	}
	below, ok := plan.Step("dependencies/mono")
	if !ok || !slices.Equal(below.Recipe.Packages, []string{"a@1", "b@2"}) || len(below.Recipe.Installs) != 1 {
		t.Errorf("dependencies: %+v", below.Recipe)
	}
}

func TestPinsOfUnits(t *testing.T) {
	s := newSite(t, shop)
	ws, err := workspace.Load(os.DirFS(s.root), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	ws.Context.Registry.Services = "published"
	ws.Compositions[0].Image = "base:1"
	got := orchestrator.Planner{Workspace: ws, Units: serving}.Pins()
	want := []orchestrator.Pin{{Reference: "base:1", Platform: "linux/amd64"}, {Reference: "ghcr.io/toa-io/explorer:1.0.0-alpha.306", Platform: "all"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
