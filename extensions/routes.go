package extensions

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
	"toa.io/toa/workspace"
)

// routes parses a tree of routes, methods and directives into the form that
// the gateway reads.
type routes struct{ *document.Reader }

var (
	directiveName = lazyregexp.New(`^(\w{1,32}):(\w{1,32})$`)
	verbs         = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "LOCK", "UNLOCK"}
	// families are the directives that may be written without one.
	families = map[string]string{
		"anonymous": "auth", "anyone": "auth", "id": "auth", "role": "auth", "rule": "auth", "incept": "auth",
		"input": "io", "output": "io", "languages": "map",
	}
)

// tree is a node of routes in the making.
type tree struct{ node, routes, methods, directives *document.Value }

func newTree() tree {
	t := tree{routes: list(), methods: list(), directives: list()}
	t.node = object(field("routes", t.routes), field("methods", t.methods), field("directives", t.directives))
	return t
}

// node parses what stands below a path. Text forwards to another path.
func (r routes) node(v *document.Value) *document.Value {
	t := newTree()
	switch v.Kind {
	case document.Text:
		t.node.Fields = append(t.node.Fields, field("forward", v))
	case document.Object:
		for _, f := range v.Fields {
			r.Under(step(f.Key), func() { r.branch(t, f) })
		}
	default:
		r.Expected(v, "", "an object of routes, methods and directives, or a path")
	}
	return t.node
}

// branch adds what a key of a node says.
func (r routes) branch(t tree, f document.Field) {
	switch {
	case f.Key == "protected" || f.Key == "isolated":
		r.Boolean(new(bool)).Take(f.Value)
		t.node.Fields = append(t.node.Fields, f)
	case f.Key == "forward":
		r.Text(new(string), document.Filled).Take(f.Value)
		t.node.Fields = append(t.node.Fields, f)
	case strings.HasPrefix(f.Key, "/"):
		t.routes.Items = append(t.routes.Items, object(field("path", text(f.Key)), field("node", r.node(f.Value))))
	case slices.Contains(verbs, f.Key):
		t.methods.Items = append(t.methods.Items, r.method(f))
	default:
		r.directive(f, t.directives)
	}
}

func step(key string) string {
	if document.PlainKey(key) {
		return key
	}
	return document.Quote(key)
}

// directive adds the one that a key is, or reports that it is none.
func (r routes) directive(f document.Field, to *document.Value) {
	if one := directive(f); one != nil {
		to.Items = append(to.Items, one)
		return
	}
	known := append(slices.Sorted(maps.Keys(families)), append(slices.Clone(verbs), "forward", "isolated", "protected")...)
	fix := "directives are written as family:name"
	if near := document.Nearest(f.Key, known); near != "" {
		fix = "did you mean " + document.Quote(near) + "?"
	}
	r.Fail(f.At, fix, "%s: expected a route such as /path, a method or a directive, found %s", r.Where(), document.Quote(f.Key))
}

func directive(f document.Field) *document.Value {
	key := f.Key
	if family, short := families[key]; short {
		key = family + ":" + key
	}
	parts := directiveName.FindStringSubmatch(key)
	if parts == nil {
		return nil
	}
	return object(field("family", text(parts[1])), field("name", text(parts[2])), field("value", f.Value))
}

// method parses what a verb does: the operation that it is mapped to, and directives.
func (r routes) method(f document.Field) *document.Value {
	mapping, directives := object(), list()
	switch f.Value.Kind {
	case document.Text:
		mapping.Fields = append(mapping.Fields, field("endpoint", f.Value))
	case document.Object:
		for _, inner := range f.Value.Fields {
			r.mapped(inner, mapping, directives)
		}
	default:
		r.Expected(f.Value, "", "an operation, or an object with endpoint")
	}
	complete(mapping)
	return object(field("verb", text(f.Key)), field("mapping", mapping), field("directives", directives))
}

func (r routes) mapped(f document.Field, mapping, directives *document.Value) {
	r.Under(step(f.Key), func() {
		switch f.Key {
		case "namespace", "component", "endpoint":
			r.Text(new(string), document.Filled).Take(f.Value)
			mapping.Fields = append(mapping.Fields, f)
		case "query":
			r.Nullable(r.Some("an object or null", document.Object)).Take(f.Value)
			mapping.Fields = append(mapping.Fields, field(f.Key, ranged(f.Value)))
		default:
			r.directive(f, directives)
		}
	})
}

// complete takes component and namespace out of an endpoint that names them.
func complete(mapping *document.Value) {
	f := mapping.Find("endpoint")
	if f == nil {
		return
	}
	parts := strings.Split(f.Value.Text, ".")
	slices.Reverse(parts)
	if len(parts) < 2 {
		return
	}
	namespace := workspace.DefaultNamespace
	if stated := mapping.Find("namespace"); stated != nil {
		namespace = stated.Value.Text
	}
	if len(parts) > 2 {
		namespace = parts[2]
	}
	f.Value = text(parts[0])
	*mapping = *overlaid(mapping, object(field("component", text(parts[1])), field("namespace", text(namespace))))
}

// ranged writes a limit or an omission that is one number as the range it is.
func ranged(query *document.Value) *document.Value {
	wide := object()
	if query.Kind != document.Object {
		return query
	}
	for _, f := range query.Fields {
		if n, err := strconv.Atoi(f.Value.Text); err == nil && f.Value.Kind == document.Integer && (f.Key == "limit" || f.Key == "omit") {
			f.Value = object(field("value", number(n)), field("range", list(number(n), number(n))))
		}
		wide.Fields = append(wide.Fields, f)
	}
	return wide
}
