package buildkit

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/docker/cli/cli/config"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth/authprovider"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"github.com/tonistiigi/fsutil"
	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/templates"
)

const (
	// groundName is what a Dockerfile calls a ground that is in no registry.
	groundName  = "toa-ground"
	groundStore = "ground"
	// timeArgument is the build argument by which engines know the time of an image.
	timeArgument = "build-arg:SOURCE_DATE_EPOCH"
)

// solve lets an engine build the image of one platform and returns the digest
// of its manifest, which is in the cache then, with all that the ground has not.
func (j *job) solve(ctx context.Context, on *engine, at int) (string, error) {
	text, err := j.dockerfile(at)
	if err != nil {
		return "", err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	sent, err := newFiles(j.parts, j.step.Recipe.Epoch, fail)
	if err != nil {
		return "", err
	}
	c, err := dial(ctx, on.address)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	log := &journal{id: j.step.ID, observe: j.builder.Observe, mask: j.secrets.mask()}
	options, err := j.options(at, text, sent)
	if err != nil {
		return "", err
	}
	response, err := c.Solve(ctx, nil, options, log.follow())
	log.wait()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", j.explain(err, on, log)
	}
	return response.ExporterResponse[exptypes.ExporterImageDigestKey], nil
}

// dockerfile renders the recipe on the ground as the engine finds it.
func (j *job) dockerfile(at int) (string, error) {
	recipe := j.step.Recipe
	recipe.Base = j.ground.Reference(at, j.deps)
	if j.ground.Local() {
		recipe.Base = groundName
	}
	return templates.Render(recipe, j.secrets.id)
}

func (j *job) options(at int, dockerfile string, sent *files) (client.SolveOpt, error) {
	platform := j.step.Recipe.Platforms[at]
	definition, err := newFiles([]images.ContextPart{{Tree: cache.NewTree([]cache.File{
		cache.Generated("Dockerfile", []byte(dockerfile)),
		// What was hashed is sent, whatever a .dockerignore among it says.
		cache.Generated("Dockerfile.dockerignore", []byte("# nothing\n")),
	})}}, j.step.Recipe.Epoch, func(error) {})
	if err != nil {
		return client.SolveOpt{}, err
	}
	kept := store{blobs: j.builder.Images.Blobs, ground: j.ground}
	o := client.SolveOpt{
		Frontend:      "dockerfile.v0",
		FrontendAttrs: j.attributes(platform),
		LocalMounts:   map[string]fsutil.FS{"context": sent, "dockerfile": definition},
		// Each image has a place of its own in the engine for what it is sent.
		SharedKey: j.step.Reference.Repository + " " + string(j.step.ID) + " " + platform,
		Session:   []session.Attachable{credentials(), secretsprovider.FromMap(j.secrets.byID())},
		Exports: []client.ExportEntry{{
			Type:        client.ExporterOCI,
			Attrs:       map[string]string{"tar": "false", "rewrite-timestamp": "true", "oci-mediatypes": "true"},
			OutputStore: kept,
		}},
	}
	if j.ground.Local() && !j.ground.Empty() {
		o.OCIStores = map[string]content.Store{groundStore: kept}
		o.FrontendAttrs["context:"+groundName] = "oci-layout://" + groundStore + "@" + j.ground.Digest(at)
	}
	if j.step.Anew {
		o.FrontendAttrs["no-cache"] = ""
	}
	j.cached(&o, platform)
	return o, nil
}

// attributes are what the Dockerfile is rendered by. Build arguments are among
// them where they are no secrets.
func (j *job) attributes(platform string) map[string]string {
	all := map[string]string{"platform": platform}
	for _, name := range j.plain {
		all["build-arg:"+name] = os.Getenv(name)
	}
	all[timeArgument] = strconv.FormatInt(j.step.Recipe.Epoch, 10)
	return all
}

// cached lets the engine use and fill the cache of the image for the platform.
// A cache that cannot be written costs time only.
func (j *job) cached(o *client.SolveOpt, platform string) {
	if j.cache == "" {
		return
	}
	one := j.step
	one.Recipe.Platforms = []string{platform}
	reference := images.CacheReference(j.cache, one)
	if !j.step.Anew {
		o.CacheImports = []client.CacheOptionsEntry{{Type: "registry", Attrs: map[string]string{"ref": reference}}}
	}
	o.CacheExports = []client.CacheOptionsEntry{{Type: "registry", Attrs: map[string]string{
		"ref": reference, "mode": "max", "image-manifest": "true", "oci-mediatypes": "true", "ignore-error": "true",
	}}}
}

// cacheRepository reads the setting of the cache: a repository, or
// "type=registry,ref=" and one.
func cacheRepository(setting string) (string, error) {
	if !strings.Contains(setting, "=") {
		return setting, nil
	}
	kind, reference := "", ""
	for field := range strings.SplitSeq(setting, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "type":
			kind = value
		case "ref":
			reference = value
		}
	}
	if kind != "registry" || reference == "" {
		return "", &CacheError{Setting: setting}
	}
	return reference, nil
}

// credentials hands registries' credentials to the engine as it asks for them:
// those of the docker config and its helpers.
func credentials() session.Attachable {
	file := config.LoadDefaultConfigFile(io.Discard)
	return authprovider.NewDockerAuthProvider(authprovider.DockerAuthProviderConfig{AuthConfigProvider: authprovider.LoadAuthConfig(file)})
}
