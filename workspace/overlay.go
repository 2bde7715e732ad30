package workspace

import (
	"slices"
	"strings"

	"toa.io/toa/document"
)

// chain is an environment: names in the order in which they are looked for.
type chain []string

// parseChain splits "first:second"; empty is no environment at all.
func (r *reader) parseChain(environment string) chain {
	if environment == "" {
		return nil
	}
	names := strings.Split(environment, ":")
	if slices.Contains(names, "") {
		r.Report(&Error{
			Position: Position{File: r.File()},
			Msg:      "environment " + document.Quote(environment) + ": expected names joined by single colons, found an empty one",
		})
	}
	return names
}

// rank tells how well a key fits: the lower the better, negative for not at all.
func (c chain) rank(environment string, suffixed bool) int {
	if !suffixed {
		return len(c)
	}
	return slices.Index(c, environment)
}

// cutEnvironment splits "key@environment" at the first @. What follows a second
// @ is ignored. A key that starts with @ is a package's name and stays whole.
func cutEnvironment(key string) (base, environment string, suffixed bool) {
	base, environment, suffixed = strings.Cut(key, "@")
	if base == "" {
		return key, "", false
	}
	environment, _, _ = strings.Cut(environment, "@")
	return base, environment, suffixed
}

// overlay chooses among key, key@a, key@b everywhere below v. The value that
// wins replaces the others whole.
func (r *reader) overlay(v *document.Value, c chain) *document.Value {
	chosen := *v
	chosen.Items, chosen.Fields = nil, nil
	for _, item := range v.Items {
		chosen.Items = append(chosen.Items, r.overlay(item, c))
	}
	ranks := make(map[string]int, len(v.Fields))
	index := make(map[string]int, len(v.Fields))
	for _, f := range v.Fields {
		base, environment, suffixed := cutEnvironment(f.Key)
		if suffixed && environment == "" {
			r.Fail(f.At, "", "key %s names no environment after the @", document.Quote(f.Key))
			continue
		}
		named := document.Field{Key: base, At: f.At, Value: f.Value}
		rank := c.rank(environment, suffixed)
		best, taken := ranks[base]
		switch {
		case rank < 0:
			chosen.Dropped = append(chosen.Dropped, named)
		case !taken:
			ranks[base], index[base] = rank, len(chosen.Fields)
			chosen.Fields = append(chosen.Fields, named)
		case rank == best:
			r.Fail(f.At, "keep one of them", "duplicate key %s: what follows a second @ does not count", document.Quote(f.Key))
		case rank < best:
			ranks[base] = rank
			chosen.Fields[index[base]] = named
		}
	}
	for i := range chosen.Fields {
		chosen.Fields[i].Value = r.overlay(chosen.Fields[i].Value, c)
	}
	return &chosen
}
