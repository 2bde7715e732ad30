// Package graph holds targets and what they depend on. It knows nothing of
// images, files or registries: a target is an ID and the IDs it needs.
//
// A Graph that exists is acyclic and complete, and its order is the same on
// every machine. Walk is the only parallelism of the core.
package graph

import (
	"fmt"
	"slices"
	"strings"
)

// ID names a target as "kind/name": "composition/edge", "dependencies/edge",
// "component/store-orders".
type ID string

// NewID joins a kind and a name.
func NewID(kind, name string) ID { return ID(kind + "/" + name) }

// Kind is the part before the slash.
func (id ID) Kind() string {
	kind, _, _ := strings.Cut(string(id), "/")
	return kind
}

// Name is the part after the slash.
func (id ID) Name() string {
	_, name, _ := strings.Cut(string(id), "/")
	return name
}

// Target is one node: what it is called and what must be visited before it.
type Target struct {
	ID           ID
	Dependencies []ID
}

// Graph is an acyclic set of targets. Make one with New; it never changes.
type Graph struct {
	targets []Target // dependencies first, then by ID
	index   map[ID]int
	needs   [][]int // by target: positions of its dependencies, as declared
	users   [][]int // by target: positions of those that need it
	height  []int   // by target: length of the longest path to a target nobody needs
}

// New makes a graph, or returns a *CycleError, *UnknownError or *DuplicateError.
func New(targets []Target) (*Graph, error) {
	sorted := slices.Clone(targets)
	slices.SortFunc(sorted, func(a, b Target) int { return strings.Compare(string(a.ID), string(b.ID)) })
	index := make(map[ID]int, len(sorted))
	for i, t := range sorted {
		if _, taken := index[t.ID]; taken {
			return nil, &DuplicateError{ID: t.ID}
		}
		index[t.ID] = i
	}
	for _, t := range sorted {
		for _, need := range t.Dependencies {
			if _, known := index[need]; !known {
				return nil, &UnknownError{ID: need, NeededBy: t.ID}
			}
		}
	}
	order, err := order(sorted, index)
	if err != nil {
		return nil, err
	}
	return assemble(order), nil
}

// order sorts targets so that dependencies come first (Kahn's algorithm by
// layers, each layer by ID), or names a cycle.
func order(targets []Target, index map[ID]int) ([]Target, error) {
	missing := make([]int, len(targets))
	users := make([][]int, len(targets))
	for i, t := range targets {
		for _, need := range t.Dependencies {
			missing[i]++
			users[index[need]] = append(users[index[need]], i)
		}
	}
	var layer []int
	for i := range targets {
		if missing[i] == 0 {
			layer = append(layer, i)
		}
	}
	ordered := make([]Target, 0, len(targets))
	for len(layer) > 0 {
		var next []int
		for _, i := range layer {
			ordered = append(ordered, targets[i])
			for _, user := range users[i] {
				if missing[user]--; missing[user] == 0 {
					next = append(next, user)
				}
			}
		}
		slices.Sort(next)
		layer = next
	}
	if len(ordered) < len(targets) {
		return nil, cycle(targets, index, missing)
	}
	return ordered, nil
}

// cycle walks from the first target that could not be ordered until it meets
// itself: everything unordered has an unordered dependency.
func cycle(targets []Target, index map[ID]int, missing []int) error {
	at := slices.IndexFunc(missing, func(n int) bool { return n > 0 })
	seen := map[int]int{}
	var path []ID
	for {
		if start, met := seen[at]; met {
			return &CycleError{Path: append(path[start:], targets[at].ID)}
		}
		seen[at] = len(path)
		path = append(path, targets[at].ID)
		for _, need := range targets[at].Dependencies {
			if missing[index[need]] > 0 {
				at = index[need]
				break
			}
		}
	}
}

func assemble(ordered []Target) *Graph {
	g := &Graph{
		targets: ordered,
		index:   make(map[ID]int, len(ordered)),
		needs:   make([][]int, len(ordered)),
		users:   make([][]int, len(ordered)),
		height:  make([]int, len(ordered)),
	}
	for i, t := range ordered {
		g.index[t.ID] = i
	}
	for i, t := range ordered {
		for _, need := range t.Dependencies {
			at := g.index[need]
			g.needs[i] = append(g.needs[i], at)
			g.users[at] = append(g.users[at], i)
		}
	}
	for i := len(ordered) - 1; i >= 0; i-- {
		for _, user := range g.users[i] {
			g.height[i] = max(g.height[i], g.height[user]+1)
		}
	}
	return g
}

// Targets lists all targets, dependencies before dependents, otherwise by ID.
// The caller must not change it.
func (g *Graph) Targets() []Target { return g.targets }

// Len is the number of targets.
func (g *Graph) Len() int { return len(g.targets) }

// Has tells whether the graph holds id.
func (g *Graph) Has(id ID) bool {
	_, ok := g.index[id]
	return ok
}

// Dependencies lists what id needs directly, as declared; nil for an unknown ID.
func (g *Graph) Dependencies(id ID) []ID {
	i, ok := g.index[id]
	if !ok {
		return nil
	}
	return g.targets[i].Dependencies
}

// Dependents lists the targets that need id directly, in graph order.
func (g *Graph) Dependents(id ID) []ID {
	i, ok := g.index[id]
	if !ok {
		return nil
	}
	ids := make([]ID, 0, len(g.users[i]))
	for _, user := range g.users[i] {
		ids = append(ids, g.targets[user].ID)
	}
	return ids
}

// CycleError names a cycle: the path begins and ends with the same ID.
type CycleError struct{ Path []ID }

func (e *CycleError) Error() string {
	names := make([]string, len(e.Path))
	for i, id := range e.Path {
		names[i] = string(id)
	}
	return "dependency cycle: " + strings.Join(names, " → ")
}

// Mistake is true: it is found before anything is touched.
func (*CycleError) Mistake() bool { return true }

// UnknownError names a dependency that is no target.
type UnknownError struct{ ID, NeededBy ID }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s needs %s, which does not exist", e.NeededBy, e.ID)
}

// Mistake is true: it is found before anything is touched.
func (*UnknownError) Mistake() bool { return true }

// DuplicateError names an ID that two targets carry.
type DuplicateError struct{ ID ID }

func (e *DuplicateError) Error() string { return fmt.Sprintf("two targets are called %s", e.ID) }

// Mistake is true: it is found before anything is touched.
func (*DuplicateError) Mistake() bool { return true }
