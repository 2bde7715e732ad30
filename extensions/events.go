package extensions

import (
	"maps"
	"slices"
	"strings"
)

// consumed tells every component which of its events something consumes, as
// the others are not even sent. Whoever emits any is told, be it of none: not
// to be told means all.
func consumed(components map[string]*Component, elsewhere []string) map[string]Variable {
	wanted := map[string]bool{}
	for _, event := range elsewhere {
		wanted[event] = true
	}
	for _, c := range components {
		for _, r := range c.Receivers {
			if r.Source == "" {
				wanted[r.Event] = true
			}
		}
	}
	variables := map[string]Variable{}
	for _, id := range slices.Sorted(maps.Keys(components)) {
		c := components[id]
		if len(c.Events) == 0 {
			continue
		}
		var labels []string
		for _, label := range c.Events {
			if wanted[id+"."+label] {
				labels = append(labels, label)
			}
		}
		slices.Sort(labels)
		variables[c.Label] = Variable{Name: "TOA_EVENTS_" + c.variable(), Value: strings.Join(slices.Compact(labels), " ")}
	}
	return variables
}
