package orchestrator

import (
	"cmp"
	"maps"
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
	KindService      = "service"
)

// KindFinished is the kind of recipes of images that somebody else built.
const KindFinished = "finished"

// Mono is the one unit of everything.
const Mono = graph.ID("mono")

// workdir is where images hold compositions (spec 3.5).
const workdir = "/composition"

func componentID(c *workspace.Component) graph.ID { return graph.NewID(KindComponent, c.Label) }

// draft is an image whose files are not hashed yet.
type draft struct {
	step  Step
	needs []graph.ID
	// members are the components behind Sources, in their order.
	members []*workspace.Component
	// installed is the package that the image of a service is made of.
	installed *workspace.Installed
	// dirs are where Recipe.Installs have their package.json, in their order.
	dirs []string
}

// draft plans recipes of everything that the workspace declares.
func (p Planner) draft() (map[graph.ID]*draft, []graph.Target, error) {
	drafts := map[graph.ID]*draft{}
	var targets []graph.Target
	for _, c := range p.Workspace.Components {
		targets = append(targets, graph.Target{ID: componentID(c)})
	}
	mapPath := chart.MapPath(p.Workspace)
	for u := range p.units {
		made, err := p.unitDrafts(u, mapPath)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range made {
			d.step.Recipe.Template = cmp.Or(p.Templates[d.step.ID.Kind()], p.Templates[d.step.Recipe.Kind])
			drafts[d.step.ID] = d
			targets = append(targets, graph.Target{ID: d.step.ID, Dependencies: d.needs})
		}
	}
	return drafts, targets, nil
}

// Unit is what runs as one Deployment, as far as images go: a composition of
// the workspace, Mono, or a service.
type Unit struct {
	// ID is "composition/<slug>", "mono" or "service/<group>-<name>".
	ID graph.ID
	// Packages are npm packages (name → version) that extensions need in it.
	Packages map[string]string `json:",omitempty"`
	// Service is set for a service.
	Service *Service `json:",omitempty"`
	// Finished is its image where somebody else built it, "oci-layout://DIR@sha256:…"
	// by the digest of its manifest or index; empty: it is to be built.
	Finished string `json:",omitempty"`
}

// Service is a process that a package brings.
type Service struct {
	// Package is the reference of the package.
	Package string
	// Image is the repository that its makers publish it in, or empty.
	Image string
}

// unit is a Unit with what its image is made of.
type unit struct {
	Unit
	// name is the last part of the repository.
	name    string
	base    string
	command string
	members []*workspace.Component
}

// units goes through those given, or else the compositions.
func (p Planner) units(yield func(unit) bool) {
	if p.Units == nil {
		for _, c := range p.Workspace.Compositions {
			if !yield(compositionUnit(c)) {
				return
			}
		}
		return
	}
	compositions := make(map[graph.ID]*workspace.Composition, len(p.Workspace.Compositions))
	for _, c := range p.Workspace.Compositions {
		compositions[graph.NewID(KindComposition, c.Slug)] = c
	}
	for _, given := range p.Units {
		if !yield(p.unit(given, compositions[given.ID])) {
			return
		}
	}
}

func compositionUnit(c *workspace.Composition) unit {
	return unit{Unit: Unit{ID: graph.NewID(KindComposition, c.Slug)}, name: "composition-" + c.Slug, base: c.Image, command: "compose *", members: c.Components}
}

func (p Planner) unit(given Unit, c *workspace.Composition) unit {
	var u unit
	switch {
	case given.ID == Mono:
		u = p.mono()
	case given.Service != nil:
		u = unit{name: "extension-" + given.ID.Name(), base: p.Workspace.Context.BaseImage(), command: "serve ."}
	default:
		u = compositionUnit(c)
	}
	u.Unit = given
	return u
}

// mono is one unit of everything that is not evicted. It stands on the base
// that all compositions share, else on the context's.
func (p Planner) mono() unit {
	u := unit{name: string(Mono), command: "mono *", base: p.Workspace.Context.BaseImage()}
	var bases []string
	for _, c := range p.Workspace.Compositions {
		bases = append(bases, c.Image)
	}
	if slices.Sort(bases); len(slices.Compact(bases)) == 1 {
		u.base = bases[0]
	}
	for _, c := range p.Workspace.Components {
		if !c.Evicted {
			u.members = append(u.members, c)
		}
	}
	return u
}

func (p Planner) unitDrafts(u unit, mapPath string) ([]*draft, error) {
	if p.published(u) {
		return nil, nil
	}
	if u.Finished != "" {
		return []*draft{p.finishedDraft(u)}, nil
	}
	platforms := p.platforms()
	digests, err := p.pin(u.base, platforms)
	if err != nil {
		return nil, err
	}
	recipe := templates.Recipe{
		Base: u.base, Digests: digests, Platforms: platforms, Epoch: p.Epoch,
		Cmd: "toa " + u.command + " --map " + mapPath,
	}
	for _, name := range slices.Sorted(maps.Keys(u.Packages)) {
		recipe.Packages = append(recipe.Packages, name+"@"+u.Packages[name])
	}
	if u.Service != nil {
		return p.serviceDraft(u, recipe)
	}
	return p.compositionDrafts(u, recipe), nil
}

// finishedDraft is an image to which nothing is added.
func (p Planner) finishedDraft(u unit) *draft {
	d := &draft{step: Step{ID: u.ID, Recipe: templates.Recipe{Kind: KindFinished, Base: u.Finished}}}
	d.step.Reference.Repository = p.repository(u)
	return d
}

// published tells whether the unit runs an image that its package's makers
// publish.
func (p Planner) published(u unit) bool {
	return u.Service != nil && u.Service.Image != "" && p.Workspace.Context.Registry.Services == "published"
}

// publishedReference is what such a unit runs, by the digest of its index.
func (p Planner) publishedReference(u unit) (Reference, error) {
	reference := Reference{Repository: u.Service.Image, Tag: p.Workspace.Context.Runtime.Version}
	digest, pinned := p.Lock.Digest(reference.String(), workspace.AllPlatforms)
	if !pinned {
		return Reference{}, &UnpinnedError{Reference: reference.String(), Platform: "its platforms"}
	}
	reference.Digest = digest
	return reference, nil
}

// serviceDraft is the image of a service, made of its installed package.
func (p Planner) serviceDraft(u unit, recipe templates.Recipe) ([]*draft, error) {
	installed, err := p.Installed(u.Service.Package)
	if err != nil {
		return nil, err
	}
	d := &draft{installed: installed, step: Step{ID: u.ID, Recipe: recipe}}
	d.step.Reference.Repository = p.repository(u)
	r := &d.step.Recipe
	r.Kind, r.Env, r.Workdir = KindService, environment(), "/service"
	r.NPM = p.npm()
	r.Copies = []templates.Copy{{Label: ""}}
	if installed.HasDependencies {
		r.Installs = []templates.Install{{Scripts: cmp.Or(p.Workspace.Context.Registry.Build.Scripts, "run")}}
		d.dirs = []string{installed.Dir}
	}
	return []*draft{d}, nil
}

func (p Planner) npm() templates.NPM {
	return templates.NPM{Registry: p.Workspace.Context.Runtime.Registry, Proxy: p.Workspace.Context.Runtime.Proxy}
}

func (p Planner) repository(u unit) string {
	return path.Join(Base(p.Registry, p.Workspace.Context.Name), u.name)
}

// compositionDrafts are the unit's image and, where something has to be
// installed or run, the dependencies image below it.
func (p Planner) compositionDrafts(u unit, base templates.Recipe) []*draft {
	members := slices.Clone(u.members)
	slices.SortFunc(members, func(a, b *workspace.Component) int { return cmp.Compare(a.Label, b.Label) })

	top := &draft{members: members, step: Step{ID: u.ID, Recipe: base}}
	top.step.Reference.Repository = p.repository(u)
	recipe := &top.step.Recipe
	recipe.Kind, recipe.Workdir, recipe.Packages = KindComposition, workdir, nil
	for _, m := range members {
		recipe.Copies = append(recipe.Copies, templates.Copy{Label: m.Label})
		top.needs = append(top.needs, componentID(m))
	}
	dependencies := p.dependencies(u, base, members)
	if dependencies == nil {
		recipe.Env = environment()
		return []*draft{top}
	}
	dependencies.step.Reference.Repository = p.repository(u)
	recipe.Base, recipe.Digests = string(dependencies.step.ID), nil
	top.needs = append([]graph.ID{dependencies.step.ID}, top.needs...)
	return []*draft{dependencies, top}
}

// dependencies drafts the dependencies image, or nil where it would add
// nothing to the base.
func (p Planner) dependencies(u unit, recipe templates.Recipe, members []*workspace.Component) *draft {
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
			d.dirs = append(d.dirs, m.Dir)
		}
	}
	if len(recipe.Runs)+len(recipe.Installs)+len(recipe.Packages) == 0 {
		return nil
	}
	recipe.Kind, recipe.Cmd = KindDependencies, ""
	recipe.Env, recipe.Workdir = environment(), workdir
	recipe.Arguments = slices.Sorted(slices.Values(build.Arguments))
	recipe.Plain = build.Plain && len(build.Arguments) > 0
	recipe.NPM = p.npm()
	d.step = Step{ID: dependenciesID(u.ID), Recipe: recipe}
	return d
}

// dependenciesID names the dependencies image of a unit: "dependencies/edge",
// "dependencies/mono".
func dependenciesID(unit graph.ID) graph.ID {
	return graph.NewID(KindDependencies, cmp.Or(unit.Name(), string(unit)))
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

// Pin is an image that has to be pinned, and for what platform (which may be
// workspace.AllPlatforms).
type Pin struct{ Reference, Platform string }

// Pins lists what the workspace needs pinned, sorted: base images, and images
// of services that are published. One that carries a digest is pinned by itself.
func (p Planner) Pins() []Pin {
	pins := map[Pin]bool{}
	for u := range p.units {
		switch {
		case u.Finished != "":
		case p.published(u):
			reference := Reference{Repository: u.Service.Image, Tag: p.Workspace.Context.Runtime.Version}
			pins[Pin{reference.String(), workspace.AllPlatforms}] = true
		case u.base != templates.Scratch && !strings.Contains(u.base, "@"):
			for _, platform := range p.platforms() {
				pins[Pin{u.base, platform}] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(pins), func(a, b Pin) int {
		return cmp.Or(cmp.Compare(a.Reference, b.Reference), cmp.Compare(a.Platform, b.Platform))
	})
}
