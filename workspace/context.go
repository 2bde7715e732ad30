package workspace

import (
	"path"
	"strings"

	"toa.io/toa/document"
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
	compositions []declared
	evicted      []member
	mentions     []mention
}

func newContextFile() *contextFile {
	return &contextFile{
		context: Context{
			Runtime: Runtime{Version: DefaultRuntime},
			Registry: Registry{
				Platforms: []string{"linux/amd64", "linux/arm64"},
				Services:  "build",
				Build:     Build{Scripts: ScriptsRun},
			},
			Builder: Builder{Kind: "auto"},
			Mono:    Mono{Replicas: defaultReplicas},
		},
		packages: defaultPackages,
	}
}

// contextRequired are keys that a context must have.
var contextRequired = []string{"name", "registry"}

// context reads the root of a context after overlay.
func (r *reader) context(root *document.Value) *contextFile {
	file := newContextFile()
	said := &statements{reader: r}
	r.Object(root, r.contextKeys(file, said))
	r.Require(root, contextRequired...)
	r.checkRepository(root, file)
	r.checkCompositions(file)
	file.context.Annotations = said.sorted()
	file.mentions = r.mentions
	return file
}

func (r *reader) contextKeys(file *contextFile, said *statements) document.Keys {
	c := &file.context
	known := r.deliveryKeys(c)
	known["name"] = r.Text(&c.Name, document.Matching(contextName, "words of letters and digits joined by hyphens")).
		About("name of the workspace; images and the release are named after it")
	known["version"] = r.Text(&c.Version, document.OneWord).
		About("version of the chart; without one there is no chart")
	known["description"] = r.Text(&c.Description).About("what the workspace is for")
	known["packages"] = r.packages(&file.packages).
		About("glob of the directories of components, components/* if not stated; older releases only")
	known["build"] = r.mention("build.command has no effect on images and releases",
		r.Sub(document.Keys{"command": r.Text(new(string)).About("a command")})).About("accepted, without effect")
	known["environment"] = r.mention("environment comes from the command line, stating it has no effect",
		r.Text(new(string))).About("accepted, without effect: the command line names the environment")
	known["runtime"] = r.runtime(&c.Runtime).About("the Toa runtime in images: a version, or an object")
	known["registry"] = r.registry(&c.Registry).About("where images go and what they start from: host/path, or an object")
	known["compositions"] = r.List(r.composition(file)).
		About("components that run in one process; each component that is in none gets its own")
	known["evicted"] = r.evicted(file).About("what is not deployed")
	known["resources"] = r.resources(&c.Resources).About("requests and limits of units that state none; null for none at all")
	known["mono"] = r.mono(&c.Mono).About("the unit that --mono makes of everything")
	known["ingress"] = r.ingress(&c.Ingress).About("what leads from outside to services that state no other")
	known["annotations"] = said.packages(packageReference).About("what is said to packages, by name or shortcut")
	known["release"] = r.release(&c.Release).About("where and how the chart is applied")
	known["builder"] = r.builder(&c.Builder).About("what builds images")
	known["cache"] = r.Sub(document.Keys{
		"shared": r.Text(&c.Cache.Shared, document.OneOf(CacheRegistry)).About("where machines tell each other what is published; nowhere if not stated"),
		"write":  r.Text(&c.Cache.Write, document.OneOf("always", CacheNever)).About("whether to add to it; always if not stated"),
	}).About("what machines share")
	return said.shortcutKeys(known, "annotation of ")
}

func (r *reader) packages(target *string) document.Want {
	pattern := r.Text(target, document.Rule(packagesPattern))
	return r.mention("packages is in older releases only, newer ones find components in components/*",
		document.Want{Schema: pattern.Schema, Take: func(v *document.Value) {
			*target = ""
			pattern.Take(v)
			if *target != "" {
				*target = path.Clean(*target)
			}
		}})
}

func (r *reader) evicted(file *contextFile) document.Want {
	components := r.List(r.Text(new(string), componentReference))
	components = components.Then(func(v *document.Value) {
		file.evicted = r.members(v)
		for _, m := range file.evicted {
			file.context.Evicted.Components = append(file.context.Evicted.Components, m.id)
		}
	})
	keys := r.Sub(document.Keys{
		"components": components.About("components that run nowhere; what others know of them stays"),
		"services":   r.references(&file.context.Evicted.Services, packageReference).About("packages whose services are not deployed"),
	})
	return document.Want{
		Take: func(v *document.Value) {
			if v.Kind == document.Object && len(v.Fields) == 0 {
				r.Fail(v.At, "remove the key if nothing is evicted", "evicted: expected components or services, found neither")
			}
			keys.Take(v)
		},
		Schema: func() *document.Schema {
			schema := keys.Schema()
			schema.MinProperties = 1
			return schema
		},
	}
}

func (r *reader) mono(target *Mono) document.Want {
	return r.Sub(document.Keys{
		"replicas":  r.Integer(&target.Replicas, 1).About("how many pods run, 2 if not stated"),
		"resources": r.resources(&target.Resources).About("requests and limits; null for none at all"),
	})
}

func (r *reader) ingress(target **Ingress) document.Want {
	return document.Optional(target, func(x *Ingress) document.Want {
		return r.Sub(document.Keys{
			"hosts":   r.Texts(&x.Hosts, document.OneWord).About("names under which services are reached"),
			"class":   r.Text(&x.Class, document.OneWord).About("class of the ingress"),
			"default": document.Optional(&x.Default, r.Boolean).About("whether requests to other hosts are answered too"),
			"annotations": r.Each(func(key string) document.Want {
				var text string
				return r.Text(&text).Then(func(*document.Value) {
					if x.Annotations == nil {
						x.Annotations = map[string]string{}
					}
					x.Annotations[key] = text
				})
			}).About("annotations of the ingress"),
		})
	})
}

func (r *reader) builder(target *Builder) document.Want {
	return r.Sub(document.Keys{
		"kind":    r.Text(&target.Kind, document.OneOf("auto", "native", "buildkit", "docker")).About("auto if not stated"),
		"address": r.Text(&target.Address, document.OneWord).About("where BuildKit listens"),
		"cache":   r.Text(&target.Cache, document.Filled).About("where the engine keeps its cache"),
	})
}

func (r *reader) runtime(target *Runtime) document.Want {
	version := r.Text(&target.Version, document.Matching(imageTag, "a version"))
	simple := document.Want{Schema: version.Schema, Take: func(v *document.Value) {
		switch {
		case v.Kind == document.Text && v.Text == ".": // the default
		case v.Kind == document.List || v.Kind == document.Null:
			r.Expected(v, "", "a version or an object")
		default:
			version.Take(v)
		}
	}}
	return r.Either(simple, document.Keys{
		"version":  simple.About("version of the runtime"),
		"registry": r.uri(&target.Registry).About("npm registry"),
		"proxy":    r.uri(&target.Proxy).About("npm proxy"),
	})
}

// uri reads a URI that gets into images: it must not carry a password.
func (r *reader) uri(target *string) document.Want {
	text := r.Text(target, absoluteURI)
	return document.Want{Schema: text.Schema, Take: func(v *document.Value) {
		if v.Kind == document.Text && strings.Contains(v.Text, "@") {
			r.Fail(v.At, "leave user and password to npm's own configuration", "%s: expected a URI without user and password", r.Where())
			return
		}
		text.Take(v)
	}}
}

func (r *reader) release(target *Release) document.Want {
	registry := r.Text(&target.Registry, document.Rule(helmRegistry)).Then(func(*document.Value) {
		target.Registry = strings.TrimRight(strings.TrimPrefix(target.Registry, "oci://"), "/")
	})
	return r.Sub(document.Keys{
		"namespace": r.Text(&target.Namespace, document.Matching(dnsLabel, "the name of a namespace")).About("Kubernetes namespace"),
		"context":   r.Text(&target.Context, document.Filled).About("kubeconfig context; only a named cluster is released to"),
		"wait":      r.Boolean(&target.Wait).About("whether to wait until pods are ready"),
		"timeout":   r.Duration(&target.Timeout).About("how long to wait, such as 10m"),
		"atomic":    r.Boolean(&target.Atomic).About("whether a failed release is undone"),
		"history":   r.Integer(&target.History, 1).About("how many revisions are kept"),
		"registry":  registry.About("OCI registry of charts"),
	})
}
