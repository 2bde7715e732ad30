package cli

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

type manifestFlags struct {
	output string
	errors bool
}

func exportManifest(g *globals) *cobra.Command {
	f := &manifestFlags{}
	cmd := &cobra.Command{
		Use:     "manifest [DIR]",
		Aliases: []string{"man"},
		Short:   "Print a component's manifest with all that is not stated filled in",
		Long: `Manifest prints the manifest of the component in a directory: packages by their
full names, and operations, events, receivers and guards of directories too.
Without a directory it is that which --path names, or the current one.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, "output", f.output, "yaml", "json"); err != nil {
				return err
			}
			return g.manifest(cmd, args, f)
		},
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "yaml", "yaml or json")
	cmd.Flags().BoolVarP(&f.errors, "errors", "e", false, "print mistakes only")
	return cmd
}

func (g *globals) manifest(cmd *cobra.Command, args []string, f *manifestFlags) error {
	inner := *g
	if len(args) > 0 {
		inner.path = filepath.Join(g.path, args[0])
		if filepath.IsAbs(args[0]) {
			inner.path = args[0]
		}
	}
	s, err := inner.open(environment(g, nil))
	if err != nil {
		return err
	}
	defer s.close()
	c, err := s.componentAt(inner.start())
	if err != nil {
		return usage(cmd, err)
	}
	if err := s.workspace.Discover(os.DirFS(s.root)); err != nil || f.errors {
		return err
	}
	if f.output == "json" {
		return writeJSON(g.io.Out, normalised(c).JSON())
	}
	_, err = g.io.Out.Write(encodeYAML(normalised(c)))
	return err
}

// componentAt is the one that a directory belongs to.
func (s *session) componentAt(dir string) (*workspace.Component, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(s.root, absolute)
	if err != nil {
		return nil, err
	}
	below = filepath.ToSlash(below)
	for _, c := range s.workspace.Components {
		if below == c.Dir || strings.HasPrefix(below, c.Dir+"/") {
			return c, nil
		}
	}
	return nil, errors.New("expected the directory of a component, found " + document.Quote(below))
}

// normalised is the manifest with defaults, full names, and what directories say.
func normalised(c *workspace.Component) *document.Value {
	stated := document.NewReader(c.Position.File).Parse(c.Contract)
	m := &document.Value{Kind: document.Object}
	add := func(key string, v *document.Value) { m.Fields = append(m.Fields, document.Field{Key: key, Value: v}) }
	add("namespace", text(c.Namespace))
	add("name", text(c.Name))
	if c.Version != "" {
		add("version", text(c.Version))
	}
	if c.HasEntity {
		add("entity", stored(member(stated, "entity"), c.Storage))
	}
	if c.HasEntity || c.Prototype != "" {
		add("prototype", reference(c.Prototype))
	}
	add("bindings", texts(c.Bindings))
	add("bridge", text(c.Bridge))
	for _, group := range []struct {
		key   string
		names []string
	}{{"operations", c.Operations}, {"events", c.Events}, {"receivers", received(c)}, {"guards", c.Guards}} {
		if len(group.names) > 0 {
			add(group.key, named(group.names, member(stated, group.key)))
		}
	}
	add("extensions", extended(c))
	m.Fields = append(m.Fields, contents(c)...)
	return m
}

// stored is what an entity states, and where it is kept.
func stored(entity *document.Value, storage string) *document.Value {
	v := &document.Value{Kind: document.Object, Fields: []document.Field{{Key: "storage", Value: reference(storage)}}}
	if entity == nil {
		return v
	}
	for _, f := range entity.Fields {
		if f.Key != "storage" {
			v.Fields = append(v.Fields, f)
		}
	}
	return v
}

func received(c *workspace.Component) []string {
	var names []string
	for _, r := range c.Receivers {
		names = append(names, r.Event)
	}
	return slices.Compact(names)
}

// named are the entries of a group, with nothing for those that only a
// directory names.
func named(names []string, stated *document.Value) *document.Value {
	v := &document.Value{Kind: document.Object}
	for _, name := range names {
		said := cmp.Or(member(stated, name), member(stated, strings.TrimPrefix(name, workspace.DefaultNamespace+".")))
		if said == nil || said.Kind == document.Null {
			said = &document.Value{Kind: document.Object}
		}
		v.Fields = append(v.Fields, document.Field{Key: name, Value: said})
	}
	return v
}

func extended(c *workspace.Component) *document.Value {
	v := &document.Value{Kind: document.Object}
	for _, e := range c.Extensions {
		v.Fields = append(v.Fields, document.Field{Key: e.Package, Value: e.Value.Unpack()})
	}
	return v
}

// contents are what the component's image is made of, as far as it is stated.
func contents(c *workspace.Component) []document.Field {
	var fields []document.Field
	for _, list := range []struct {
		key   string
		items []string
	}{{"files", c.Files}, {"ignore", c.Ignore}} {
		if len(list.items) > 0 {
			fields = append(fields, document.Field{Key: list.key, Value: texts(list.items)})
		}
	}
	build := &document.Value{Kind: document.Object}
	for _, one := range []struct{ key, value string }{
		{"image", c.Build.Image}, {"run", strings.Join(c.Build.Run, "\n")}, {"scripts", c.Build.Scripts},
	} {
		if one.value != "" {
			build.Fields = append(build.Fields, document.Field{Key: one.key, Value: text(one.value)})
		}
	}
	if len(build.Fields) > 0 {
		fields = append(fields, document.Field{Key: "build", Value: build})
	}
	return fields
}

// member is the value of an object's key, or nil.
func member(v *document.Value, key string) *document.Value {
	if v == nil {
		return nil
	}
	if f := v.Find(key); f != nil {
		return f.Value
	}
	return nil
}

func text(s string) *document.Value { return &document.Value{Kind: document.Text, Text: s} }

// reference is a package, or null for none.
func reference(name string) *document.Value {
	if name == "" {
		return &document.Value{Kind: document.Null}
	}
	return text(name)
}

func texts(all []string) *document.Value {
	v := &document.Value{Kind: document.List}
	for _, one := range all {
		v.Items = append(v.Items, text(one))
	}
	return v
}
