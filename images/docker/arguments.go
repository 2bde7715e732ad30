package docker

import (
	"path/filepath"
	"strconv"
	"strings"

	"toa.io/toa/images"
)

// arguments are those of the reference (spec 3.8), except that the image comes
// out as an archive, that build arguments are secrets unless they are plain, and that the Dockerfile
// stands outside of the context, so that no copy takes it along.
func (b *Builder) arguments(s stage, builder string) []string {
	ref := s.step.Reference
	args := []string{
		"--context=default", "buildx", "build",
		"--output", "type=oci,dest=-,rewrite-timestamp=true",
		"--tag", ref.Repository + ":" + ref.Tag,
		"--file", s.dockerfile(), s.context,
		"--build-arg", "SOURCE_DATE_EPOCH=" + strconv.FormatInt(s.step.Recipe.Epoch, 10),
	}
	for _, name := range s.content.Plain {
		args = append(args, "--build-arg", name) // docker finds the value in its environment
	}
	for _, secret := range s.content.Secrets {
		args = append(args, "--secret", s.secret(secret))
	}
	for _, named := range s.base.contexts {
		args = append(args, "--build-context", named)
	}
	if s.step.Anew {
		args = append(args, "--no-cache")
	}
	if kept := images.CacheReference(b.Cache, s.step); kept != "" {
		args = append(args,
			"--cache-from", "type=registry,ref="+kept,
			"--cache-to", "type=registry,ref="+kept+",mode=max,image-manifest=true",
		)
	}
	return append(args,
		"--platform", strings.Join(s.step.Recipe.Platforms, ","),
		"--builder", builder, "--provenance=false", "--progress", "plain",
	)
}

// secret is how buildx is told of a secret: never its value. Paths start where
// docker runs: those of a cache directory may hold a comma, which separates here.
func (s stage) secret(secret images.Secret) string {
	if secret.Env != "" {
		return "id=" + secret.ID + ",env=" + secret.Env
	}
	return "id=" + secret.ID + ",src=" + filepath.Join(secretsDir, secret.ID)
}
