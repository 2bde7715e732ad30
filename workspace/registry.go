package workspace

import (
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
)

func (r *reader) registry(target *Registry) document.Want {
	base := r.base(&target.Base)
	return r.Either(base, document.Keys{
		"base":        base.About("host, or host/path of all images"),
		"platforms":   r.platforms(&target.Platforms).About("os/arch of images, linux/amd64 and linux/arm64 if not stated; null for that of the host only"),
		"credentials": r.Text(&target.Credentials, document.Matching(dnsSubdomain, "the name of a secret")).About("image pull secret"),
		"services":    r.Text(&target.Services, document.OneOf("build", "published")).About("whether images of services are built or those of their publishers taken"),
		"insecure":    r.Texts(&target.Insecure, document.Matching(registryHost, "host or host:port")).About("registries that are spoken to without TLS, beside those of this machine"),
		"build": r.Sub(document.Keys{
			"image":     r.image(&target.Build.Image).About("base image"),
			"run":       r.lines(&target.Build.Run).About("lines to run in images"),
			"arguments": r.Texts(&target.Build.Arguments, document.Matching(variableName, "the name of a variable")).About("variables of the environment that the lines see"),
			"plain":     r.plain(&target.Build).About("whether the arguments may stand in the history of images: they are no secrets"),
			"scripts":   r.scripts(&target.Build.Scripts),
		}).Then(r.checkPlain(&target.Build)).About("what enters images besides components"),
	})
}

func (r *reader) base(target *string) document.Want {
	text := r.Text(target, document.Rule(repositoryBase))
	return document.Want{Schema: text.Schema, Take: func(v *document.Value) {
		if v.Kind == document.List || v.Kind == document.Null {
			r.Expected(v, "", "text or an object")
			return
		}
		text.Take(v)
		*target = strings.TrimRight(*target, "/")
	}}
}

func (r *reader) platforms(target *[]string) document.Want {
	var stated []string
	list := r.Texts(&stated, document.Matching(platformName, "os/arch or os/arch/variant"))
	return r.Nullable(list).Then(func(*document.Value) {
		slices.Sort(stated)
		*target = stated
	})
}

func (r *reader) image(target *string) document.Want {
	return r.Text(target, document.Rule(imageReference))
}

func (r *reader) scripts(target *string) document.Want {
	return r.Text(target, document.OneOf(ScriptsRun, ScriptsIgnore)).About("what becomes of npm install scripts")
}

// plain is worth a notice where it is so.
func (r *reader) plain(target *Build) document.Want {
	return r.Boolean(&target.Plain).Then(func(*document.Value) {
		if target.Plain {
			r.mentions = append(r.mentions, mention{text: "registry.build.plain puts the values of build arguments into the history of images, where whoever has one can read them", at: r.Key()})
		}
	})
}

var secretName = lazyregexp.New(`(?i)(^|_)(auth|credentials?|jwt|key|pass|passphrase|password|passwd|pat|secret|token)s?(_|$)`)

// checkPlain refuses to let what is called a secret be seen by all.
func (r *reader) checkPlain(target *Build) func(*document.Value) {
	return func(v *document.Value) {
		for _, name := range target.Arguments {
			if target.Plain && secretName.MatchString(name) {
				r.Fail(v.Find("plain").At, "remove `plain`: the lines see the argument all the same", "registry.build.plain: expected arguments that are no secrets, found %s", document.Quote(name))
			}
		}
	}
}

// lines reads a text of lines, without blank ones.
func (r *reader) lines(target *[]string) document.Want {
	var text string
	return r.Text(&text).Then(func(*document.Value) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				*target = append(*target, line)
			}
		}
	})
}

// checkRepository makes sure that images can be named after the context.
func (r *reader) checkRepository(root *document.Value, file *contextFile) {
	name := root.Find("name")
	if file.context.Name == "" || name == nil {
		return
	}
	lower := strings.ToLower(file.context.Name)
	if !pathComponent.MatchString(lower) {
		r.Fail(name.Value.At, "", "name: expected single or double underscores only, found %s, which no registry takes", document.Quote(file.context.Name))
	}
	longest := len(file.context.Registry.Base) + len(lower) + len("//"+deploymentPrefix) + maxSlug
	if longest > maxRepository {
		r.Fail(name.Value.At, "shorten name or registry.base", "name: expected repositories of %d characters at most, found %d", maxRepository, longest)
	}
}
