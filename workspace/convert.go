package workspace

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
	*reader
	open     map[*yaml.Node]bool // anchored nodes that are being converted
	depth    int
	aliases  int   // how many aliases the node at hand stands under
	alias    place // of the outermost of them
	expanded int   // nodes made under aliases so far
	stopped  bool
}

// value converts a node; an empty one stands where its key does.
func (c *converter) value(n *yaml.Node, key place) *value {
	v := &value{at: place{n.Line, n.Column}}
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
		v.kind = kindList
		for _, item := range n.Content {
			v.items = append(v.items, c.value(item, place{item.Line, item.Column}))
		}
	default:
		v.kind, v.text = scalarKind(n), n.Value
		if v.kind == kindNull && n.Value == "" {
			v.at = key
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
	switch at := (place{n.Line, n.Column}); {
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

func (c *converter) stop(at place, format string, args ...any) {
	c.stopped = true
	c.fail(at, "", format, args...)
}

// plain refuses tags that say more than the value does.
func (c *converter) plain(n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle == 0 || slices.Contains([]string{"!!str", "!!map", "!!seq"}, n.Tag) {
		return true
	}
	c.fail(place{n.Line, n.Column}, "remove the tag", "tag %s, expected a value without one", quote(n.Tag))
	return false
}

// expand makes a value of its own of what an alias names.
func (c *converter) expand(n *yaml.Node, key place) *value {
	at := place{n.Line, n.Column}
	if c.open[n.Alias] {
		c.stop(at, "anchor %s holds itself", quote(n.Value))
		return &value{}
	}
	if c.aliases == 0 {
		c.alias = at
	}
	c.aliases++
	defer func() { c.aliases-- }()
	return c.value(n.Alias, key)
}

func (c *converter) object(v *value, n *yaml.Node) {
	v.kind = kindObject
	seen := make(map[string]place, len(n.Content)/2)
	var merged *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, content := n.Content[i], n.Content[i+1]
		at := place{key.Line, key.Column}
		name, ok := c.key(key)
		if !ok {
			continue
		}
		if first, twice := seen[name]; twice {
			c.fail(at, "keep one of them", "duplicate key %s, the first is in line %d", quote(name), first.line)
			continue
		}
		seen[name] = at
		if key.Tag == "!!merge" && key.Style == 0 {
			merged = content
			continue
		}
		v.fields = append(v.fields, field{key: name, at: at, value: c.value(content, at)})
	}
	if merged != nil {
		c.merge(v, seen, merged)
	}
}

func (c *converter) key(n *yaml.Node) (string, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		c.fail(place{n.Line, n.Column}, "", "expected text as a key, found %s", map[yaml.Kind]string{
			yaml.MappingNode: "an object", yaml.SequenceNode: "a list",
		}[n.Kind])
		return "", false
	}
	if n.Value == "" {
		c.fail(place{n.Line, n.Column}, "", "expected text as a key, found nothing")
		return "", false
	}
	return n.Value, c.plain(n)
}

// merge adds the fields that `<<` brings: those stated in the object win, then
// those of the first source.
func (c *converter) merge(v *value, seen map[string]place, content *yaml.Node) {
	merged := c.value(content, place{content.Line, content.Column})
	sources := []*value{merged}
	if merged.kind == kindList {
		sources = merged.items
	}
	for _, source := range sources {
		if source.kind != kindObject && source.kind != kindBroken {
			c.fail(place{content.Line, content.Column}, "", "expected an object or a list of objects to merge, found %s", source.describe())
			continue
		}
		for _, f := range source.fields {
			if _, stated := seen[f.key]; !stated {
				seen[f.key] = f.at
				v.fields = append(v.fields, f)
			}
		}
	}
}

func scalarKind(n *yaml.Node) kind {
	switch n.ShortTag() {
	case "!!null":
		return kindNull
	case "!!bool":
		return kindBoolean
	case "!!int":
		return kindInteger
	case "!!float":
		return kindFloat
	default:
		return kindText
	}
}
