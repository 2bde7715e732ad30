package extensions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
	"toa.io/toa/workspace"
)

// DeploymentFile is where a package says what it needs, without a program.
const DeploymentFile = "deployment.toa.yaml"

// Declarative asks packages that have a DeploymentFile. Packages are found as
// Node finds them: in node_modules of the directory, or of one above it.
type Declarative struct{ Root fs.FS }

// Introduce reads what the package says of itself. Its mistakes are
// *document.Errors.
func (d Declarative) Introduce(_ context.Context, reference, from string, _ json.RawMessage) (Introduction, error) {
	s, dir, err := d.sheet(reference, from)
	if err != nil {
		return Introduction{}, err
	}
	said := Introduction{Standalone: s.standalone}
	for _, id := range s.brings {
		c, err := ReadComponent(d.Root, path.Join(dir, "components", id))
		if err != nil {
			return said, err
		}
		said.Components = append(said.Components, c)
	}
	return said, nil
}

// Describe reads what the package says it needs. Its mistakes are
// *document.Errors.
func (d Declarative) Describe(_ context.Context, reference, from string, request Request) (Declaration, error) {
	s, dir, err := d.sheet(reference, from)
	if err != nil {
		return Declaration{}, err
	}
	return s.declaration(packageFacts(d.Root, dir).Version, request), nil
}

// sheet finds and reads the file of a package, which is in dir.
func (d Declarative) sheet(reference, from string) (s *sheet, dir string, err error) {
	name, key, _ := strings.Cut(reference, "#")
	if key != "" {
		return nil, "", ErrUndescribed // a file says one thing
	}
	for _, dir := range Places(name, from) {
		file := path.Join(dir, DeploymentFile)
		data, err := fs.ReadFile(d.Root, file)
		switch {
		case err == nil:
			s, err := readSheet(file, data)
			return s, dir, err
		case !errors.Is(err, fs.ErrNotExist):
			return nil, "", fmt.Errorf("read %s: %w", file, err)
		}
	}
	return nil, "", ErrUndescribed
}

// ReadComponent reads a component that a package brings, from its directory
// below the root. Its mistakes are *document.Errors.
func ReadComponent(root fs.FS, dir string) (*Component, error) {
	c, err := workspace.ReadComponent(root, dir)
	if err != nil {
		return nil, err
	}
	return adopt(c), nil
}

// Places are the directories below the root where a package may be, the
// nearest first.
func Places(name, from string) []string {
	if strings.HasPrefix(name, "./") {
		return []string{path.Clean(name)}
	}
	var places []string
	for dir := path.Clean(from); ; dir = path.Dir(dir) {
		places = append(places, path.Join(dir, "node_modules", name))
		if dir == "." || dir == "/" {
			return places
		}
	}
}

func readSheet(file string, data []byte) (*sheet, error) {
	r := document.NewReader(file)
	var s sheet
	if root := r.Parse(data); root != nil {
		s.keys(r).Take(root)
	}
	if mistakes := r.Errors(); len(mistakes) > 0 {
		all := &document.Errors{List: mistakes}
		all.Sort()
		return nil, all
	}
	return &s, nil
}

// facts are what a package.json says; empty where it says nothing.
type facts struct{ Name, Version string }

func packageFacts(root fs.FS, dir string) (f facts) {
	data, err := fs.ReadFile(root, path.Join(dir, "package.json"))
	if err != nil || json.Unmarshal(data, &f) != nil {
		return facts{}
	}
	return f
}

// sheet is what a DeploymentFile says.
type sheet struct {
	global, each             []Variable
	globalMounts, eachMounts []Mount
	services                 []Service
	events                   []string
	probe                    *Probe
	installs                 map[string]string
	// brings are IDs of the components that the package brings.
	brings     []string
	standalone bool
}

var (
	environmentName = lazyregexp.New(`^[A-Za-z_{][A-Za-z0-9_{}]*$`)
	serviceWord     = lazyregexp.New(`^[a-z0-9]+$`)
	broughtID       = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9]*\.[a-zA-Z][a-zA-Z0-9]*$`)
	eventLabel      = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9]*(?:\.[a-zA-Z][a-zA-Z0-9]*){2}$`)
)

func (s *sheet) keys(r *document.Reader) document.Want {
	return r.Sub(document.Keys{
		"variables": r.Sub(document.Keys{"global": variableList(r, &s.global), "components": variableList(r, &s.each)}),
		"mounts":    r.Sub(document.Keys{"global": mountList(r, &s.globalMounts), "components": mountList(r, &s.eachMounts)}),
		"services":  r.List(serviceSheet(r, &s.services)),
		"events":    r.Texts(&s.events, document.Matching(eventLabel, "namespace.component.event")),
		"probe":     probeSheet(r, &s.probe),
		"installs":  textMap(r, &s.installs),

		"components": r.Texts(&s.brings, document.Matching(broughtID, "namespace.component")),
		"standalone": r.Boolean(&s.standalone),
	})
}

// item reads one of a list into a new T and appends it.
func item[T any](target *[]T, read func(*T) document.Want) document.Want {
	return document.Want{
		Take: func(v *document.Value) {
			var one T
			read(&one).Take(v)
			*target = append(*target, one)
		},
		Schema: func() *document.Schema { return read(new(T)).Describe() },
	}
}

func variableList(r *document.Reader, target *[]Variable) document.Want {
	return r.List(item(target, func(v *Variable) document.Want {
		return r.Sub(document.Keys{
			"name":   r.Text(&v.Name, document.Matching(environmentName, "the name of a variable")),
			"value":  r.Text(&v.Value),
			"secret": document.Optional(&v.Secret, func(s *Secret) document.Want { return secretSheet(r, s) }),
		}, "name").Then(func(at *document.Value) {
			if at.Kind == document.Object && (at.Find("value") == nil) == (at.Find("secret") == nil) {
				r.Fail(at.At, "", "%s: expected either value or secret", r.Where())
			}
		})
	}))
}

func secretSheet(r *document.Reader, s *Secret) document.Want {
	return r.Sub(document.Keys{
		"name": r.Text(&s.Name, document.OneWord), "key": r.Text(&s.Key, document.OneWord), "optional": r.Boolean(&s.Optional),
	}, "name", "key")
}

func mountList(r *document.Reader, target *[]Mount) document.Want {
	return r.List(item(target, func(m *Mount) document.Want {
		return r.Sub(document.Keys{
			"name":  r.Text(&m.Name, document.OneWord),
			"path":  r.Text(&m.Path, document.Matching(urlPath, "a path that begins with a slash")),
			"claim": r.Text(&m.Claim, document.OneWord),
		}, "name", "path", "claim")
	}))
}

func serviceSheet(r *document.Reader, target *[]Service) document.Want {
	return item(target, func(s *Service) document.Want {
		word := document.Matching(serviceWord, "small letters and digits")
		return r.Sub(document.Keys{
			"group":       r.Text(&s.Group, word),
			"name":        r.Text(&s.Name, word),
			"image":       r.Text(&s.Image, document.OneWord),
			"port":        r.Integer(&s.Port, 1),
			"ingress":     document.Optional(&s.Ingress, func(i *Ingress) document.Want { return ingressSheet(r, i) }),
			"annotations": textMap(r, &s.Annotations),
			"resources":   resources(r, &s.Resources),
			"variables":   variableList(r, &s.Variables),
			"components":  r.Texts(&s.Components, document.OneWord),
			"probe":       probeSheet(r, &s.Probe),
		}, "group", "name")
	})
}

func ingressSheet(r *document.Reader, i *Ingress) document.Want {
	return r.Sub(document.Keys{
		"path":        r.Text(&i.Path, document.Matching(urlPath, "a path that begins with a slash")),
		"hosts":       r.Texts(&i.Hosts, document.OneWord),
		"class":       r.Text(&i.Class, document.OneWord),
		"annotations": textMap(r, &i.Annotations),
		"default":     document.Optional(&i.Default, r.Boolean),
	})
}

func probeSheet(r *document.Reader, target **Probe) document.Want {
	return document.Optional(target, func(p *Probe) document.Want {
		on := true
		off := r.Boolean(&on).Then(func(v *document.Value) {
			if v.Kind == document.Boolean && on {
				r.Expected(v, "", "false, or a path and a port")
			}
			p.Off = true
		})
		return document.Choose(r.Sub(document.Keys{
			"path":  r.Text(&p.Path, document.Matching(urlPath, "a path that begins with a slash")),
			"port":  r.Integer(&p.Port, 1),
			"delay": r.Integer(&p.Delay, 0),
		}, "path", "port"), off, document.Object)
	})
}

func textMap(r *document.Reader, target *map[string]string) document.Want {
	return r.Each(func(key string) document.Want {
		var one string
		return r.Text(&one).Then(func(*document.Value) {
			if *target == nil {
				*target = map[string]string{}
			}
			(*target)[key] = one
		})
	})
}

// declaration is what the file says, for components said for each of those
// that use the package. Services run the components that the package brings,
// unless they name some.
func (s *sheet) declaration(version string, request Request) Declaration {
	d := Declaration{
		Variables: map[string][]Variable{Global: s.global}, Mounts: map[string][]Mount{Global: s.globalMounts},
		Services: s.services, Events: s.events, Probe: s.probe, Installs: map[string]map[string]string{},
	}
	for i := range d.Services {
		one := &d.Services[i]
		one.Version = version
		if len(one.Components) == 0 {
			one.Components = labels(s.brings)
		}
		s.install(&d, one.ID())
	}
	for _, peer := range request.Instances {
		of := peer.Locator
		s.install(&d, of.Label)
		for _, v := range s.each {
			d.Variables[of.Label] = append(d.Variables[of.Label], of.variable(v))
		}
		for _, m := range s.eachMounts {
			d.Mounts[of.Label] = append(d.Mounts[of.Label], Mount{of.written(m.Name), of.written(m.Path), of.written(m.Claim)})
		}
	}
	return d
}

func (s *sheet) install(d *Declaration, key string) {
	if len(s.installs) > 0 {
		d.Installs[key] = maps.Clone(s.installs)
	}
}

func labels(ids []string) []string {
	var all []string
	for _, id := range ids {
		namespace, name, _ := strings.Cut(id, ".")
		all = append(all, workspace.Label(namespace, name))
	}
	return all
}

func (l Locator) variable(v Variable) Variable {
	v.Name, v.Value = l.written(v.Name), l.written(v.Value)
	if v.Secret != nil {
		v.Secret = &Secret{Name: l.written(v.Secret.Name), Key: l.written(v.Secret.Key), Optional: v.Secret.Optional}
	}
	return v
}

// written fills in names of the component, as "{NAMESPACE}_{NAME}" and "{label}".
func (l Locator) written(text string) string {
	return strings.NewReplacer(
		"{NAMESPACE}", strings.ToUpper(l.Namespace), "{NAME}", strings.ToUpper(l.Name),
		"{namespace}", l.Namespace, "{name}", l.Name, "{label}", l.Label, "{id}", l.ID,
	).Replace(text)
}
