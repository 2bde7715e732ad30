package workspace

import (
	"path"
	"strings"

	"toa.io/toa/document"
)

// manifestFile is what a manifest says, valid as far as it can be known
// without the others.
type manifestFile struct {
	component Component
	mentions  []mention
	// prototypeAt is where the prototype is stated.
	prototypeAt document.Place
	// storageStated tells a storage that is stated from the default.
	storageStated bool
}

// manifest reads the root of the manifest in dir. What a prototype is called is
// nobody's business.
func (r *reader) manifest(dir string, root *document.Value, prototype bool) *manifestFile {
	file := &manifestFile{component: Component{Dir: dir, Position: r.Position(document.Place{Line: 1, Column: 1})}}
	c := &file.component
	said := &statements{reader: r}
	r.Object(root, r.manifestKeys(c, said))
	if !prototype {
		r.locate(c, root)
	}
	file.storageStated = c.Storage != ""
	if f := root.Find("prototype"); f != nil {
		file.prototypeAt = f.Value.At
	}
	c.complete()
	c.extend(said.sorted())
	c.Contract = contract(root)
	file.mentions = r.mentions
	return file
}

func (r *reader) manifestKeys(c *Component, said *statements) document.Keys {
	known := r.contractKeys(c)
	known["name"] = r.Text(&c.Name, simple).About("name of the component, that of the directory if not stated")
	known["namespace"] = r.Text(&c.Namespace, simple, unreserved).About("namespace of the component, default if not stated")
	known["version"] = r.Text(&c.Version, document.OneWord).About("version in the component map; that of the content if not stated")
	known["files"] = r.Texts(&c.Files, document.Rule(relativePattern)).About("paths and globs that the component is made of, everything if not stated")
	known["ignore"] = r.Texts(&c.Ignore, document.Rule(ignorePattern)).About("globs that it is not made of; a leading ! takes a built-in one away")
	known["build"] = r.Sub(document.Keys{
		"image":   r.image(&c.Build.Image).About("base image"),
		"run":     r.lines(&c.Build.Run).About("lines to run in images"),
		"scripts": r.scripts(&c.Build.Scripts),
		"arguments": r.Refuse("expected in the context only, where all images get them",
			"state it under `registry.build` of "+ContextFile),
	}).About("what enters images besides files")
	known["extensions"] = said.packages(localReference).About("declarations for packages, by name or shortcut")
	known["rc"] = r.mention("rc has no effect on images and releases", document.Anything()).About("accepted, without effect")
	return said.shortcutKeys(known, "declaration for ")
}

var unreserved = document.Rule(func(namespace string) string {
	if strings.EqualFold(namespace, reservedNamespace) {
		return "a namespace other than " + reservedNamespace + ", which belongs to the runtime"
	}
	return ""
})

// locate gives the component its names: those of the directory where the
// manifest states no name.
func (r *reader) locate(c *Component, root *document.Value) {
	name, namespace := root.Find("name"), root.Find("namespace")
	switch {
	case name != nil:
		c.Position = r.Position(name.Value.At)
	case namespace == nil:
		c.Namespace, c.Name = locate(path.Base(c.Dir))
		r.checkDirectory(c.Namespace, c.Name)
	default:
		var stated string
		stated, c.Name = locate(path.Base(c.Dir))
		r.checkDirectory(stated, c.Name)
		if stated != "" && c.Namespace != "" && stated != c.Namespace {
			r.Fail(namespace.Value.At, "state the name as well",
				"namespace: expected %s as the directory says, for no name is stated, found %s", document.Quote(stated), document.Quote(c.Namespace))
		}
	}
	if namespace != nil && c.Namespace == "" {
		return // reported
	}
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Name != "" {
		c.ID, c.Label = c.Namespace+"."+c.Name, Label(c.Namespace, c.Name)
	}
	r.checkLabel(c)
}

// checkDirectory looks at names that a directory gives; it need not give a
// namespace.
func (r *reader) checkDirectory(namespace, name string) {
	var wrong, expected string
	switch {
	case !simpleName.MatchString(name):
		wrong, expected = name, "1 to 32 letters and digits, a letter first"
	case namespace != "" && !simpleName.MatchString(namespace):
		wrong, expected = namespace, "1 to 32 letters and digits, a letter first"
	case unreserved.Expects(namespace) != "":
		wrong, expected = namespace, unreserved.Expects(namespace)
	default:
		return
	}
	r.Fail(document.Place{Line: 1, Column: 1}, "state a name", "name is missing and that of the directory does not fit: expected %s, found %s", expected, document.Quote(wrong))
}

func (r *reader) checkLabel(c *Component) {
	if len(c.Label) > maxLabel {
		r.Report(&Error{
			Position: c.Position,
			Msg:      "component " + document.Quote(c.ID) + ": its label " + document.Quote(c.Label) + " is too long, expected 63 characters at most",
			Fix:      "shorten the name or the namespace",
		})
	}
}
