package templates

import (
	_ "embed" // the template
	"fmt"

	"toa.io/toa/internal/lazyregexp"
)

// What the runtime's image is made of (the reference's image/runtime.Dockerfile
// as of 234, with the runtime under /toa as since about 292).
const (
	// RuntimeRepository is where the published images are, which every recipe
	// starts from unless the workspace states another base.
	RuntimeRepository = "ghcr.io/toa-io/runtime"
	// RuntimeBase has the Node.js that the runtime is tested with.
	RuntimeBase = "node:24.14.0-alpine3.22"

	runtimePackage = "@toa.io/runtime"
	runtimeDir     = "/toa"
)

//go:embed runtime.Dockerfile
var runtimeTemplate string

// versionWord is a version or a tag of npm's: no range, which would make two
// images of one name.
var versionWord = lazyregexp.New(`^[0-9A-Za-z][0-9A-Za-z.+-]*$`)

// Runtime is the recipe of the runtime's image at a version, for platforms
// that base is pinned for by digests, in their order. Only an engine can follow
// it: the runtime's packages may have install scripts.
func Runtime(version string, platforms, digests []string, npm NPM) (Recipe, error) {
	if !versionWord.MatchString(version) {
		return Recipe{}, fmt.Errorf("version %q of the runtime is none", version)
	}
	return Recipe{
		Kind:      "dependencies", // an image that others stand on, without a command
		Template:  runtimeTemplate,
		Base:      RuntimeBase,
		Digests:   digests,
		Platforms: platforms,
		Env:       []string{"NODE_ENV=production"},
		Workdir:   runtimeDir,
		NPM:       npm,
		Packages:  []string{runtimePackage + "@" + version},
	}, nil
}
