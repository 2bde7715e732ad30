package docker

import (
	"context"
	"os"
	"path/filepath"

	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// stage is a step written down for buildx, in a directory of its own.
type stage struct {
	step    orchestrator.Step
	content images.Context
	base    base
	// dir holds everything; context is the build context in it.
	dir, context string
}

func (s stage) dockerfile() string { return filepath.Join(s.dir, "Dockerfile") }

// secretsDir is below a stage's directory.
const secretsDir = "secrets"

// ignoreNothing stands beside the Dockerfile, where BuildKit prefers it to a
// .dockerignore that a package brings along: what is copied was decided before.
const ignoreNothing = "# everything here is copied\n"

// write writes the Dockerfile, the files and the secrets below dir.
func (s *stage) write(ctx context.Context, dir string) error {
	recipe := s.step.Recipe
	recipe.Base = s.base.name
	text, err := templates.Dockerfile(recipe)
	if err != nil {
		return err
	}
	s.dir = dir
	// BuildKit takes over from earlier contexts of the same name what has equal
	// size and time, whatever its content (moby/buildkit#4950): no two share one.
	if s.context, err = os.MkdirTemp(dir, s.step.Key.Tag()+"-"); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, secretsDir), 0o700); err != nil {
		return err
	}
	for name, data := range s.beside(text) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return s.content.Write(ctx, s.context, recipe.Epoch)
}

// beside are the files that stand next to the context, by path.
func (s *stage) beside(dockerfile string) map[string][]byte {
	all := map[string][]byte{
		"Dockerfile":              []byte(s.base.stages + dockerfile),
		"Dockerfile.dockerignore": []byte(ignoreNothing),
	}
	for _, secret := range s.content.Secrets {
		if secret.Env == "" {
			all[filepath.Join(secretsDir, secret.ID)] = secret.Data
		}
	}
	return all
}
