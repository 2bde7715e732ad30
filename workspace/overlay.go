package workspace

import (
	"slices"
	"strings"
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
		r.errors = append(r.errors, &Error{
			Position: Position{File: r.file},
			Msg:      "environment " + quote(environment) + ": expected names joined by single colons, found an empty one",
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
func (r *reader) overlay(v *value, c chain) *value {
	chosen := *v
	chosen.items, chosen.fields = nil, nil
	for _, item := range v.items {
		chosen.items = append(chosen.items, r.overlay(item, c))
	}
	ranks := make(map[string]int, len(v.fields))
	index := make(map[string]int, len(v.fields))
	for _, f := range v.fields {
		base, environment, suffixed := cutEnvironment(f.key)
		if suffixed && environment == "" {
			r.fail(f.at, "", "key %s names no environment after the @", quote(f.key))
			continue
		}
		named := field{key: base, at: f.at, value: f.value}
		rank := c.rank(environment, suffixed)
		best, taken := ranks[base]
		switch {
		case rank < 0:
			chosen.dropped = append(chosen.dropped, named)
		case !taken:
			ranks[base], index[base] = rank, len(chosen.fields)
			chosen.fields = append(chosen.fields, named)
		case rank == best:
			r.fail(f.at, "keep one of them", "duplicate key %s: what follows a second @ does not count", quote(f.key))
		case rank < best:
			ranks[base] = rank
			chosen.fields[index[base]] = named
		}
	}
	for i := range chosen.fields {
		chosen.fields[i].value = r.overlay(chosen.fields[i].value, c)
	}
	return &chosen
}
