package workspace

import (
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// DefaultRuntime is the Toa runtime where the context names none.
	DefaultRuntime = "1.0.0-alpha.306"

	defaultPackages = "components/*"
	runtimeImage    = "ghcr.io/toa-io/runtime"
)

// Scripts says what becomes of npm install scripts.
const (
	ScriptsRun    = "run"
	ScriptsIgnore = "ignore"
)

// contextFile is what a context file says, valid as far as it can be known
// without the components.
type contextFile struct {
	context      Context
	packages     string // empty where it was reported
	compositions []declaration
	mentions     []mention
}

// context reads the root of a context after overlay.
func (r *reader) context(root *value) *contextFile {
	file := &contextFile{
		context: Context{
			Runtime: Runtime{Version: DefaultRuntime},
			Registry: Registry{
				Platforms: []string{"linux/amd64", "linux/arm64"},
				Services:  "build",
				Build:     Build{Scripts: ScriptsRun},
			},
			Builder: Builder{Kind: "auto"},
		},
		packages: defaultPackages,
	}
	r.object(root, r.shortcutKeys(r.contextKeys(file)))
	r.require(root, "name", "registry")
	r.checkRepository(root, file)
	r.checkCompositions(file)
	file.mentions = r.mentions
	return file
}

func (r *reader) contextKeys(file *contextFile) keys {
	c := &file.context
	known := r.laterKeys()
	known["name"] = r.text(&c.Name, matching(contextName, "words of letters and digits joined by hyphens"))
	known["version"] = r.text(&c.Version, oneWord)
	known["description"] = r.text(&c.Description)
	known["packages"] = func(v *value) {
		file.packages = ""
		r.text(&file.packages, packagesPattern)(v)
		if file.packages != "" {
			file.packages = path.Clean(file.packages)
		}
	}
	known["runtime"] = r.runtime(&c.Runtime)
	known["registry"] = r.registry(&c.Registry)
	known["compositions"] = r.list(func(v *value) { r.composition(v, file) })
	known["release"] = r.release(&c.Release)
	known["builder"] = r.sub(keys{
		"kind":    r.text(&c.Builder.Kind, oneOf("auto", "native", "buildkit", "docker")),
		"address": r.text(&c.Builder.Address, oneWord),
		"cache":   r.text(&c.Builder.Cache, filled),
	})
	return known
}

// laterKeys are known and wait for what acts on them.
func (r *reader) laterKeys() keys {
	names := r.list(r.text(new(string), filled))
	return keys{
		"build":       r.later("build", r.sub(keys{"command": r.text(new(string))})),
		"environment": r.later("environment", r.text(new(string))),
		"annotations": r.extensions(),
		"evicted": r.later("evicted", r.sub(keys{
			"components": r.list(r.text(new(string), componentReference)),
			"services":   names,
		})),
		"resources": r.later("resources", r.resources()),
		"mono": r.later("mono", r.sub(keys{
			"replicas": r.integer(new(int), 1), "resources": r.resources(),
		})),
		"ingress": r.later("ingress", r.sub(keys{
			"hosts": names, "class": r.text(new(string), filled), "default": r.boolean(new(bool)),
			"annotations": r.some("an object", kindObject),
		})),
		"atomicity": r.later("atomicity", func(v *value) {
			r.object(v, keys{"redis": r.textOrTexts(), "interval": r.integer(new(int), 100)})
			r.require(v, "redis")
		}),
		"outbox": r.later("outbox", r.sub(keys{
			"interval": r.integer(new(int), 100), "batch": r.integer(new(int), 1), "retention": r.integer(new(int), 0),
		})),
		"inbox":     r.later("inbox", r.sub(keys{"retention": r.integer(new(int), 600)})),
		"addressed": r.later("addressed", r.sub(keys{"timeout": r.integer(new(int), 0)})),
		"events": r.later("events", r.list(r.text(new(string),
			matching(eventName, "namespace.component.event")))),
		"cache": r.later("cache", r.some("an object", kindObject)),
	}
}

// textOrTexts checks a value that may be stated alone or as a list. What it
// says is never shown: it may be a secret.
func (r *reader) textOrTexts() want {
	return func(v *value) {
		if v.kind == kindList {
			r.list(r.some("text", kindText))(v)
			return
		}
		r.some("text or a list", kindText)(v)
	}
}

func (r *reader) runtime(target *Runtime) want {
	version := r.text(&target.Version, matching(imageTag, "a version"))
	simple := func(v *value) {
		if v.kind == kindText && v.text == "." {
			return // the default
		}
		if v.kind == kindList || v.kind == kindNull {
			r.expected(v, "", "a version or an object")
			return
		}
		version(v)
	}
	return r.either(simple, keys{
		"version": simple, "registry": r.uri(&target.Registry), "proxy": r.uri(&target.Proxy),
	})
}

// uri reads a URI that gets into images: it must not carry a password.
func (r *reader) uri(target *string) want {
	text := r.text(target, absoluteURI)
	return func(v *value) {
		if v.kind == kindText && strings.Contains(v.text, "@") {
			r.fail(v.at, "leave user and password to npm's own configuration", "%s: expected a URI without user and password", r.where())
			return
		}
		text(v)
	}
}

func (r *reader) registry(target *Registry) want {
	base := func(v *value) {
		if v.kind == kindList || v.kind == kindNull {
			r.expected(v, "", "text or an object")
			return
		}
		r.text(&target.Base, repositoryBase)(v)
		target.Base = strings.TrimRight(target.Base, "/")
	}
	return r.either(base, keys{
		"base":        base,
		"platforms":   r.platforms(&target.Platforms),
		"credentials": r.text(&target.Credentials, matching(dnsSubdomain, "the name of a secret")),
		"services":    r.later("registry.services", r.text(&target.Services, oneOf("build", "published"))),
		"build": r.sub(keys{
			"image":     r.text(&target.Build.Image, imageReference),
			"run":       r.lines(&target.Build.Run),
			"arguments": r.texts(&target.Build.Arguments, matching(variableName, "the name of a variable")),
			"scripts":   r.text(&target.Build.Scripts, oneOf(ScriptsRun, ScriptsIgnore)),
		}),
	})
}

func (r *reader) platforms(target *[]string) want {
	return func(v *value) {
		*target = nil
		if v.kind == kindNull {
			return
		}
		r.texts(target, matching(platformName, "os/arch or os/arch/variant"))(v)
		slices.Sort(*target)
	}
}

// lines reads a text of lines, without blank ones.
func (r *reader) lines(target *[]string) want {
	return func(v *value) {
		var text string
		r.text(&text)(v)
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				*target = append(*target, line)
			}
		}
	}
}

func (r *reader) release(target *Release) want {
	registry := r.text(&target.Registry, helmRegistry)
	return r.sub(keys{
		"namespace": r.text(&target.Namespace, matching(dnsLabel, "the name of a namespace")),
		"context":   r.text(&target.Context, filled),
		"wait":      r.boolean(&target.Wait),
		"timeout":   r.duration(&target.Timeout),
		"atomic":    r.boolean(&target.Atomic),
		"history":   r.integer(&target.History, 1),
		"registry": func(v *value) {
			registry(v)
			target.Registry = strings.TrimRight(strings.TrimPrefix(target.Registry, "oci://"), "/")
		},
	})
}

func (r *reader) duration(target *time.Duration) want {
	const expected = "a duration such as 90s or 10m"
	return func(v *value) {
		if v.kind != kindText {
			r.expected(v, "", expected)
			return
		}
		d, err := time.ParseDuration(v.text)
		if err != nil || d <= 0 {
			r.fail(v.at, "", "%s: expected %s, found %s", r.where(), expected, quote(v.text))
			return
		}
		*target = d
	}
}

// checkRepository makes sure that images can be named after the context.
func (r *reader) checkRepository(root *value, file *contextFile) {
	name := root.find("name")
	if file.context.Name == "" || name == nil {
		return
	}
	lower := strings.ToLower(file.context.Name)
	if !pathComponent.MatchString(lower) {
		r.fail(name.value.at, "", "name: expected single or double underscores only, found %s, which no registry takes", quote(file.context.Name))
	}
	longest := len(file.context.Registry.Base) + len(lower) + len("//"+deploymentPrefix) + maxSlug
	if longest > maxRepository {
		r.fail(name.value.at, "shorten name or registry.base", "name: expected repositories of %d characters at most, found %d", maxRepository, longest)
	}
}
