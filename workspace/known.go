package workspace

import "strings"

// shortcuts are short names of the standard packages; the last ones are those
// that older workspaces use.
var shortcuts = map[string]string{
	"amqp":          "@toa.io/bindings.amqp",
	"http":          "@toa.io/bindings.http",
	"node":          "@toa.io/bridges.node",
	"bash":          "@toa.io/bridges.bash",
	"mongodb":       "@toa.io/storages.mongodb",
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
	"queues":        "@toa.io/extensions.queues",
	"origins":       "@toa.io/extensions.origins",
}

var packageShortcuts = func() map[string]string {
	names := make(map[string]string, len(shortcuts))
	for name, reference := range shortcuts {
		names[reference] = name
	}
	return names
}()

// shortName is the name under which a package's key is reported: its shortcut
// where it has one, however the key was written.
func shortName(key string) string {
	if name, known := packageShortcuts[key]; known {
		return name
	}
	if strings.HasPrefix(key, "@") || plainKey(key) {
		return printable(key)
	}
	return quote(key)
}

// shortcutKeys adds the shortcuts to the keys of an object: all of them wait
// for extensions.
func (r *reader) shortcutKeys(known keys) keys {
	for name := range shortcuts {
		known[name] = r.later(name, anything)
	}
	return known
}

// extensions reads a map of packages to their declarations.
func (r *reader) extensions() want {
	return r.each(func(key string) want { return r.later(shortName(key), anything) })
}

// resources are known by their shape only.
func (r *reader) resources() want {
	pair := func(v *value) {
		r.list(r.text(new(string), filled))(v)
		if v.kind == kindList && len(v.items) != 2 && len(v.items) != 0 {
			r.expected(v, "state both: [request, limit]", "a list of two, a request and a limit")
		}
	}
	return r.nullable(r.sub(keys{"cpu": pair, "memory": pair}))
}
