package templates

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// Fields calls yield with every setting of the recipe, labelled, in a fixed
// order; labels are unique. Together they say everything that the recipe says,
// so a key that covers them covers the recipe.
func (r Recipe) Fields(yield func(label, value string)) {
	yield("kind", r.Kind)
	yield("base", r.Base)
	for i, platform := range r.Platforms {
		digest := ""
		if i < len(r.Digests) {
			digest = r.Digests[i]
		}
		yield("platform "+platform, digest)
	}
	yield("epoch", strconv.FormatInt(r.Epoch, 10))
	for i, name := range r.Arguments {
		yield(nth("argument", i), name)
	}
	if r.Plain {
		yield("arguments are plain", "true")
	}
	for i, variable := range r.Env {
		yield(nth("env", i), variable)
	}
	yield("workdir", r.Workdir)
	yield("npm registry", r.NPM.Registry)
	yield("npm proxy", r.NPM.Proxy)
	for _, install := range r.Installs {
		yield("install "+install.Label+" package.json", install.Package)
		yield("install "+install.Label+" lockfile", strings.TrimSpace(install.LockName+" "+install.Lock))
		yield("install "+install.Label+" .npmrc", install.Config)
		yield("install "+install.Label+" scripts", install.Scripts)
		for _, local := range install.Locals {
			yield("install "+install.Label+" package "+local.Name, local.Digest)
		}
	}
	for i, name := range r.Packages {
		yield(nth("package", i), name)
	}
	for i, dir := range r.Copies {
		yield(nth("copy", i), dir.Label)
	}
	for i, run := range r.Runs {
		yield(nth("run", i)+" of "+run.Owner, run.Line)
	}
	yield("cmd", r.Cmd)
	if r.Template != "" {
		yield("template of the workspace", fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(r.Template))))
	}
}

func nth(what string, i int) string { return what + " " + strconv.Itoa(i+1) }
