package workspace

import (
	"path"
	"strings"
)

// manifestFile is what a manifest says, valid as far as it can be known
// without the others.
type manifestFile struct {
	component Component
	mentions  []mention
}

// manifest reads the root of the manifest in dir.
func (r *reader) manifest(dir string, root *value) *manifestFile {
	c := Component{Dir: dir, Position: r.position(place{1, 1})}
	r.object(root, r.manifestKeys(&c))
	r.locate(&c, root)
	c.Contract = contract(root)
	return &manifestFile{component: c, mentions: r.mentions}
}

func (r *reader) manifestKeys(c *Component) keys {
	named := matching(simpleName, "1 to 32 letters and digits, a letter first")
	known := r.shortcutKeys(keys{})
	for name, take := range r.contractKeys() {
		known[name] = take
	}
	known["name"] = r.text(&c.Name, named)
	known["namespace"] = r.text(&c.Namespace, named, unreserved)
	known["version"] = r.text(&c.Version, oneWord)
	known["files"] = r.texts(&c.Files, relativePattern)
	known["ignore"] = r.texts(&c.Ignore, ignorePattern)
	known["build"] = r.sub(keys{
		"image":   r.text(&c.Build.Image, imageReference),
		"run":     r.lines(&c.Build.Run),
		"scripts": r.text(&c.Build.Scripts, oneOf(ScriptsRun, ScriptsIgnore)),
		"arguments": r.refuse("expected in the context only, where all images get them",
			"state it under `registry.build` of "+ContextFile),
	})
	known["extensions"] = r.extensions()
	known["rc"] = r.later("rc", anything)
	return known
}

// contracts are the keys that go into the component map as they are.
var contracts = []string{
	"bindings", "bridge", "entity", "events", "guards", "operations", "prototype", "receivers",
}

func (r *reader) contractKeys() keys {
	entries := r.some("an object", kindObject)
	return keys{
		"bindings":   r.list(r.text(new(string), filled)),
		"bridge":     r.text(new(string), filled),
		"entity":     r.some("an object", kindObject),
		"events":     entries,
		"guards":     r.some("an object or a list", kindObject, kindList),
		"operations": entries,
		"prototype":  r.nullable(r.text(new(string), filled)),
		"receivers":  entries,
	}
}

func unreserved(namespace string) string {
	if strings.EqualFold(namespace, reservedNamespace) {
		return "a namespace other than " + reservedNamespace + ", which belongs to the runtime"
	}
	return ""
}

// locate gives the component its names: those of the directory where the
// manifest states no name.
func (r *reader) locate(c *Component, root *value) {
	name, namespace := root.find("name"), root.find("namespace")
	switch {
	case name != nil:
		c.Position = r.position(name.value.at)
	case namespace == nil:
		c.Namespace, c.Name = locate(path.Base(c.Dir))
		r.checkDirectory(c.Namespace, c.Name)
	default:
		var stated string
		stated, c.Name = locate(path.Base(c.Dir))
		r.checkDirectory(stated, c.Name)
		if stated != "" && c.Namespace != "" && stated != c.Namespace {
			r.fail(namespace.value.at, "state the name as well",
				"namespace: expected %s as the directory says, for no name is stated, found %s", quote(stated), quote(c.Namespace))
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
	case unreserved(namespace) != "":
		wrong, expected = namespace, unreserved(namespace)
	default:
		return
	}
	r.fail(place{1, 1}, "state a name", "name is missing and that of the directory does not fit: expected %s, found %s", expected, quote(wrong))
}

func (r *reader) checkLabel(c *Component) {
	if len(c.Label) > maxLabel {
		r.errors = append(r.errors, &Error{
			Position: c.Position,
			Msg:      "component " + quote(c.ID) + ": its label " + quote(c.Label) + " is too long, expected 63 characters at most",
			Fix:      "shorten the name or the namespace",
		})
	}
}
