package document

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

const (
	// maxDepth is far above what people write and far below what hurts.
	maxDepth = 100
	// maxExpanded bounds what aliases and merge keys may multiply.
	maxExpanded = 100_000
)

// converter makes values of YAML nodes.
type converter struct {
	*Reader
	open     map[*yaml.Node]bool // anchored nodes that are being converted
	depth    int
	aliases  int   // how many aliases the node at hand stands under
	alias    Place // of the outermost of them
	expanded int   // nodes made under aliases so far
	stopped  bool
}

// value converts a node; an empty one stands where its key does.
func (c *converter) value(n *yaml.Node, key Place) *Value {
	v := &Value{At: Place{n.Line, n.Column}}
	if !c.enter(n) {
		return v
	}
	defer c.leave(n)
	if n.Kind != yaml.AliasNode && !c.plain(n) {
		return v
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.expand(n, key)
	case yaml.MappingNode:
		c.object(v, n)
	case yaml.SequenceNode:
		v.Kind = List
		for _, item := range n.Content {
			v.Items = append(v.Items, c.value(item, Place{item.Line, item.Column}))
		}
	default:
		v.Kind, v.Text = scalarKind(n), n.Value
		if v.Kind == Null && n.Value == "" {
			v.At = key
		}
	}
	return v
}

// enter guards against files that are small and values that are not.
func (c *converter) enter(n *yaml.Node) bool {
	if c.stopped {
		return false
	}
	if c.aliases > 0 {
		c.expanded++
	}
	switch at := (Place{n.Line, n.Column}); {
	case c.depth >= maxDepth:
		c.stop(at, "nested deeper than %d levels", maxDepth)
	case c.expanded > maxExpanded:
		c.stop(c.alias, "aliases expand to more than %d values", maxExpanded)
	}
	if c.stopped {
		return false
	}
	c.depth++
	if n.Anchor != "" {
		c.open[n] = true
	}
	return true
}

func (c *converter) leave(n *yaml.Node) {
	c.depth--
	if n.Anchor != "" {
		delete(c.open, n)
	}
}

func (c *converter) stop(at Place, format string, args ...any) {
	c.stopped = true
	c.Fail(at, "", format, args...)
}

// plain refuses tags that say more than the value does.
func (c *converter) plain(n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle == 0 || slices.Contains([]string{"!!str", "!!map", "!!seq"}, n.Tag) {
		return true
	}
	c.Fail(Place{n.Line, n.Column}, "remove the tag", "tag %s, expected a value without one", Quote(n.Tag))
	return false
}

// expand makes a value of its own of what an alias names.
func (c *converter) expand(n *yaml.Node, key Place) *Value {
	at := Place{n.Line, n.Column}
	if c.open[n.Alias] {
		c.stop(at, "anchor %s holds itself", Quote(n.Value))
		return &Value{}
	}
	if c.aliases == 0 {
		c.alias = at
	}
	c.aliases++
	defer func() { c.aliases-- }()
	return c.value(n.Alias, key)
}

func (c *converter) object(v *Value, n *yaml.Node) {
	v.Kind = Object
	seen := make(map[string]Place, len(n.Content)/2)
	var merged *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, content := n.Content[i], n.Content[i+1]
		at := Place{key.Line, key.Column}
		name, ok := c.name(key)
		if !ok {
			continue
		}
		if first, twice := seen[name]; twice {
			c.Fail(at, "keep one of them", "duplicate key %s, the first is in line %d", Quote(name), first.Line)
			continue
		}
		seen[name] = at
		if key.Tag == "!!merge" && key.Style == 0 {
			merged = content
			continue
		}
		v.Fields = append(v.Fields, Field{Key: name, At: at, Value: c.value(content, at)})
	}
	if merged != nil {
		c.merge(v, seen, merged)
	}
}

func (c *converter) name(n *yaml.Node) (string, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		c.Fail(Place{n.Line, n.Column}, "", "expected text as a key, found %s", map[yaml.Kind]string{
			yaml.MappingNode: "an object", yaml.SequenceNode: "a list",
		}[n.Kind])
		return "", false
	}
	if n.Value == "" {
		c.Fail(Place{n.Line, n.Column}, "", "expected text as a key, found nothing")
		return "", false
	}
	return n.Value, c.plain(n)
}

// merge adds the fields that `<<` brings: those stated in the object win, then
// those of the first source.
func (c *converter) merge(v *Value, seen map[string]Place, content *yaml.Node) {
	merged := c.value(content, Place{content.Line, content.Column})
	sources := []*Value{merged}
	if merged.Kind == List {
		sources = merged.Items
	}
	for _, source := range sources {
		if source.Kind != Object && source.Kind != Broken {
			c.Fail(Place{content.Line, content.Column}, "", "expected an object or a list of objects to merge, found %s", source.Describe())
			continue
		}
		for _, f := range source.Fields {
			if _, stated := seen[f.Key]; !stated {
				seen[f.Key] = f.At
				v.Fields = append(v.Fields, f)
			}
		}
	}
}

func scalarKind(n *yaml.Node) Kind {
	switch n.ShortTag() {
	case "!!null":
		return Null
	case "!!bool":
		return Boolean
	case "!!int":
		return Integer
	case "!!float":
		return Float
	default:
		return Text
	}
}
