package orchestrator

import (
	"cmp"
	"path"
	"runtime"
	"slices"
	"strings"

	"toa.io/toa/chart"
	"toa.io/toa/graph"
	"toa.io/toa/templates"
	"toa.io/toa/workspace"
)

// Kinds of targets.
const (
	KindComponent    = "component"
	KindComposition  = "composition"
	KindDependencies = "dependencies"
)

// workdir is where images hold compositions (spec 3.5).
const workdir = "/composition"

func componentID(c *workspace.Component) graph.ID { return graph.NewID(KindComponent, c.Label) }

// draft is an image whose files are not hashed yet.
type draft struct {
	step  Step
	needs []graph.ID
	// members are the components behind Sources, in their order.
	members []*workspace.Component
}

// draft plans recipes of everything that the workspace declares.
func (p Planner) draft() (map[graph.ID]*draft, []graph.Target, error) {
	drafts := map[graph.ID]*draft{}
	var targets []graph.Target
	for _, c := range p.Workspace.Components {
		targets = append(targets, graph.Target{ID: componentID(c)})
	}
	platforms := p.platforms()
	mapPath := chart.MapPath(p.Workspace)
	for _, c := range p.Workspace.Compositions {
		digests, err := p.pin(c.Image, platforms)
		if err != nil {
			return nil, nil, err
		}
		base := templates.Recipe{Base: c.Image, Digests: digests, Platforms: platforms, Epoch: p.Epoch}
		for _, d := range p.compositionDrafts(c, base, mapPath) {
			drafts[d.step.ID] = d
			targets = append(targets, graph.Target{ID: d.step.ID, Dependencies: d.needs})
		}
	}
	return drafts, targets, nil
}

// compositionDrafts are the composition's image and, where something has to be
// installed or run, the dependencies image below it.
func (p Planner) compositionDrafts(c *workspace.Composition, base templates.Recipe, mapPath string) []*draft {
	members := slices.Clone(c.Components)
	slices.SortFunc(members, func(a, b *workspace.Component) int { return cmp.Compare(a.Label, b.Label) })
	repository := path.Join(p.Registry, strings.ToLower(p.Workspace.Context.Name), "composition-"+c.Slug)

	top := &draft{members: members, step: Step{ID: graph.NewID(KindComposition, c.Slug), Recipe: base}}
	top.step.Reference.Repository = repository
	recipe := &top.step.Recipe
	recipe.Kind = KindComposition
	recipe.Cmd = "toa compose * --map " + mapPath
	for _, m := range members {
		recipe.Copies = append(recipe.Copies, templates.Copy{Label: m.Label})
		top.needs = append(top.needs, componentID(m))
	}
	dependencies := p.dependencies(c, base, members)
	if dependencies == nil {
		recipe.Env, recipe.Workdir = environment(), workdir
		return []*draft{top}
	}
	dependencies.step.Reference.Repository = repository
	recipe.Base, recipe.Digests = string(dependencies.step.ID), nil
	recipe.Workdir = workdir
	top.needs = append([]graph.ID{dependencies.step.ID}, top.needs...)
	return []*draft{dependencies, top}
}

// dependencies drafts the dependencies image, or nil where it would add
// nothing to the base.
func (p Planner) dependencies(c *workspace.Composition, recipe templates.Recipe, members []*workspace.Component) *draft {
	build := p.Workspace.Context.Registry.Build
	d := &draft{}
	for _, line := range build.Run {
		recipe.Runs = append(recipe.Runs, templates.Run{Line: line, Owner: "context"})
	}
	for _, m := range members {
		for _, line := range m.Build.Run {
			recipe.Runs = append(recipe.Runs, templates.Run{Line: line, Owner: m.ID})
		}
		if m.HasDependencies {
			recipe.Installs = append(recipe.Installs, templates.Install{
				Label:    m.Label,
				LockName: m.Lock,
				Scripts:  cmp.Or(m.Build.Scripts, build.Scripts, "run"),
			})
			d.members = append(d.members, m)
		}
	}
	if len(recipe.Runs)+len(recipe.Installs) == 0 {
		return nil
	}
	recipe.Kind = KindDependencies
	recipe.Env, recipe.Workdir = environment(), workdir
	recipe.Arguments = slices.Sorted(slices.Values(build.Arguments))
	recipe.NPM = templates.NPM{Registry: p.Workspace.Context.Runtime.Registry, Proxy: p.Workspace.Context.Runtime.Proxy}
	d.step = Step{ID: graph.NewID(KindDependencies, c.Slug), Recipe: recipe}
	return d
}

func environment() []string { return []string{"NODE_ENV=production"} }

func (p Planner) platforms() []string {
	if stated := p.Workspace.Context.Registry.Platforms; stated != nil {
		return stated
	}
	return []string{HostPlatform()}
}

// HostPlatform is the Linux platform of this machine's processor.
func HostPlatform() string { return "linux/" + runtime.GOARCH }

// pin finds the digests of a base for each platform; none for scratch.
func (p Planner) pin(base string, platforms []string) ([]string, error) {
	if base == templates.Scratch {
		return nil, nil
	}
	digests := make([]string, len(platforms))
	_, stated, pinned := strings.Cut(base, "@")
	for i, platform := range platforms {
		digest, ok := stated, pinned
		if !pinned {
			digest, ok = p.Lock.Digest(base, platform)
		}
		if !ok {
			return nil, &UnpinnedError{Reference: base, Platform: platform}
		}
		digests[i] = digest
	}
	return digests, nil
}

// BaseReferences lists the base images of a workspace that have to be pinned,
// sorted, and the platforms that they are needed for. One that carries a digest
// is pinned by itself.
func (p Planner) BaseReferences() (references, platforms []string) {
	seen := map[string]bool{templates.Scratch: true}
	for _, c := range p.Workspace.Compositions {
		if !seen[c.Image] && !strings.Contains(c.Image, "@") {
			seen[c.Image] = true
			references = append(references, c.Image)
		}
	}
	slices.Sort(references)
	return references, p.platforms()
}
