package workspace

import (
	"maps"
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
)

// Standard packages that components use without saying so.
const (
	packageAMQP    = "@toa.io/bindings.amqp"
	packageNode    = "@toa.io/bridges.node"
	packageMongoDB = "@toa.io/storages.mongodb"
	packageNull    = "@toa.io/storages.null"
)

// StandardPrototype is what components inherit from that keep a state and state
// no other.
const StandardPrototype = "@toa.io/prototype"

// predefined are extensions of every component.
var predefined = []string{
	"@toa.io/extensions.fetch", "@toa.io/extensions.introspection", "@toa.io/extensions.telemetry",
}

// shortcuts are short names of the standard packages; the last ones are those
// that older workspaces use.
var shortcuts = map[string]string{
	"amqp":          packageAMQP,
	"http":          "@toa.io/bindings.http",
	"node":          packageNode,
	"bash":          "@toa.io/bridges.bash",
	"mongodb":       packageMongoDB,
	"exposition":    "@toa.io/extensions.exposition",
	"realtime":      "@toa.io/extensions.exposition#realtime",
	"configuration": "@toa.io/extensions.configuration",
	"stash":         "@toa.io/extensions.stash",
	"state":         "@toa.io/extensions.state",
	"storages":      "@toa.io/extensions.storages",
	"telemetry":     "@toa.io/extensions.telemetry",
	"introspection": "@toa.io/extensions.introspection",
	"cadence":       "@toa.io/extensions.cadence",
	"continuity":    "@toa.io/extensions.continuity",
	"convergence":   "@toa.io/extensions.convergence",
	"fetch":         "@toa.io/extensions.fetch",
	"sql":           "@toa.io/storages.sql",
	"queues":        "@toa.io/storages.queues",
	"origins":       "@toa.io/extensions.origins",
}

// removed says what newer releases have in place of packages that they lack.
var removed = map[string]string{
	"@toa.io/storages.sql":        "sql is in older releases only, newer ones store in mongodb",
	"@toa.io/storages.queues":     "queues is in older releases only, newer ones have events over amqp",
	"@toa.io/extensions.realtime": "extensions.realtime is in older releases only, newer ones have realtime, a part of exposition",
	"@toa.io/extensions.origins":  "origins is in older releases only, newer ones have fetch",
}

var shortNames = slices.Sorted(maps.Keys(shortcuts))

// Resolve is the package that a shortcut stands for, or the reference itself.
func Resolve(reference string) string {
	if name, known := shortcuts[reference]; known {
		return name
	}
	return reference
}

var packagePattern = lazyregexp.New(`^(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-zA-Z0-9~-][a-zA-Z0-9._~-]*(?:#[a-zA-Z0-9._-]+)?$`)

// packageReference is a shortcut or the name of a package. A bare word that is
// nearly a shortcut is none of either.
var packageReference = document.Check{Pattern: packagePattern.String(), Expects: func(text string) string {
	if _, known := shortcuts[text]; known {
		return ""
	}
	if !packagePattern.MatchString(text) {
		return "a shortcut or the name of a package"
	}
	if near := document.Nearest(text, shortNames); near != "" {
		return document.Quote(near) + " or the name of a package"
	}
	return ""
}}

// localReference may be a path that starts at the component as well.
var localReference = document.Check{Pattern: `^\.\.?/|` + packagePattern.String(), Expects: func(text string) string {
	if isPath(text) {
		return ""
	}
	return packageReference.Expects(text)
}}

func isPath(reference string) bool {
	return strings.HasPrefix(reference, "./") || strings.HasPrefix(reference, "../")
}

// reference reads one and resolves it.
func (r *reader) reference(target *string, check document.Check) document.Want {
	var text string
	return r.Text(&text, check).Then(func(*document.Value) {
		if text != "" {
			*target = Resolve(text)
		}
	})
}

// references reads a list of them.
func (r *reader) references(target *[]string, check document.Check) document.Want {
	var names []string
	return r.Texts(&names, check).Then(func(*document.Value) {
		for _, name := range names {
			if name = Resolve(name); !slices.Contains(*target, name) {
				*target = append(*target, name)
			}
		}
	})
}
