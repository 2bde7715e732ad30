package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// WriteContexts writes a build context for each step below dir, whose parent
// must be there: a directory with a Dockerfile that any BuildKit takes as it
// stands, "<image>.<tag>", those of dependencies images below "dependencies".
// Equal steps give equal directories on every machine: paths, bytes, modes and
// times. After an error dir is as it was before.
//
// No secret is in them: build arguments and each member's .npmrc are given to
// the engine (--secret), which refuses to build without.
func WriteContexts(ctx context.Context, dir string, steps []orchestrator.Step) (err error) {
	references := make(map[graph.ID]orchestrator.Reference, len(steps))
	for _, step := range steps {
		references[step.ID] = step.Reference
	}
	_, missing := os.Lstat(dir)
	defer func() {
		if err != nil {
			err = errors.Join(err, empty(dir, missing != nil))
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, step := range steps {
		below := references[graph.ID(step.Recipe.Base)]
		if err := writeContext(ctx, filepath.Join(dir, filepath.FromSlash(contextName(step))), step, below); err != nil {
			return fmt.Errorf("write build context of %s: %w", step.ID, err)
		}
	}
	return settleDependencies(dir, steps)
}

// settleDependencies gives the directory above contexts of dependencies images,
// where there is one, the mode and time of what it holds.
func settleDependencies(dir string, steps []orchestrator.Step) error {
	for _, step := range steps {
		if step.ID.Kind() == orchestrator.KindDependencies {
			return normalise(filepath.Join(dir, orchestrator.KindDependencies), time.Unix(step.Recipe.Epoch, 0))
		}
	}
	return nil
}

// empty removes what a directory holds, and where asked for the directory too.
func empty(dir string, itself bool) error {
	if itself {
		return os.RemoveAll(dir)
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	return err
}

// contextName is the slash path of a step's context. It changes with the
// content, as no engine may take one context for another (moby/buildkit#4950).
func contextName(step orchestrator.Step) string {
	name := path.Base(step.Reference.Repository) + "." + step.Key.Tag()
	if step.ID.Kind() == orchestrator.KindDependencies {
		return path.Join(orchestrator.KindDependencies, name)
	}
	return name
}

// What stands beside the files, and what keeps it out of the image.
const (
	dockerfile       = "Dockerfile"
	dockerignore     = ".dockerignore"
	dockerignoreText = dockerfile + "\n" + dockerignore + "\n"
)

func writeContext(ctx context.Context, dir string, step orchestrator.Step, below orchestrator.Reference) error {
	text, err := standing(step.Recipe, below)
	if err != nil {
		return err
	}
	step.Recipe.Arguments = nil // their values are of no use here, and need not be known
	content, err := ContextOf(step)
	if err != nil {
		return err
	}
	own := ContextPart{Tree: cache.NewTree([]cache.File{
		cache.Generated(dockerfile, []byte(text)),
		cache.Generated(dockerignore, []byte(dockerignoreText)),
	})}
	content.Parts = append(content.Parts, own)
	return content.Write(ctx, dir, step.Recipe.Epoch)
}

// standing is the Dockerfile of a recipe that needs nothing else to be known: an
// image of ours below it is named by its tag, which its inputs decide, for a
// digest would not be the same whoever built it.
func standing(r templates.Recipe, below orchestrator.Reference) (string, error) {
	stages := ""
	switch {
	case below.Repository != "":
		below.Digest = ""
		r.Base = below.String()
	case r.Base != templates.Scratch:
		stages, r.Base = pinnedBase(r)
	}
	text, err := templates.Dockerfile(r)
	return stages + text, err
}

// pinnedBase is Stages for a base in a registry, or in a layout on disk: an
// engine is told where that is, and so is who reads the Dockerfile.
func pinnedBase(r templates.Recipe) (lines, from string) {
	bare, _, _ := strings.Cut(r.Base, "@")
	if !strings.HasPrefix(bare, LayoutScheme) {
		return Stages(r, func(digest, _ string) string { return bare + "@" + digest })
	}
	comment := ""
	lines, from = Stages(r, func(digest, name string) string {
		comment += "# --build-context " + name + "=" + bare + "@" + digest + "\n"
		return name
	})
	return comment + lines, from
}

// stageName begins the names of stages that are bases.
const stageName = "toa-base"

// Stages pins the base of a recipe whose digests are known: it returns the lines
// that go before the Dockerfile, and what its FROM says. A digest names the
// image of one platform; where there are several, each is a stage, and the
// Dockerfile starts from that of the platform which is being built. At is how
// the base with a digest is called; it may use the name.
func Stages(r templates.Recipe, at func(digest, name string) string) (lines, from string) {
	if len(r.Digests) == 1 {
		return "", at(r.Digests[0], stageName)
	}
	for i, platform := range r.Platforms {
		lines += "FROM " + at(r.Digests[i], pinName(platform)) + " AS " + stageName + "-" + stageSuffix(platform) + "\n"
	}
	return lines + "FROM " + stageName + "-${TARGETOS}-${TARGETARCH}${TARGETVARIANT} AS " + stageName + "\n", stageName
}

// pinName is what an engine is told a base is called that has no other name.
func pinName(platform string) string { return stageName + "-" + stageSuffix(platform) + "-pin" }

// stageSuffix is a platform as ${TARGETOS}-${TARGETARCH}${TARGETVARIANT} gives
// it: BuildKit leaves out the variant that an architecture has by itself, but
// for arm.
func stageSuffix(platform string) string {
	system, rest, _ := strings.Cut(platform, "/")
	arch, variant, _ := strings.Cut(rest, "/")
	switch {
	case arch == "arm":
		variant = cmp.Or(variant, "v7")
	case arch == "arm64" && variant == "v8", arch == "amd64" && variant == "v1":
		variant = ""
	}
	return system + "-" + arch + variant
}

// Write writes the files of all parts below dir, which it makes, with the modes
// and times that layers have. What it writes is compared with what was hashed; a
// difference is a *cache.ChangedError. Secrets are not written.
func (c Context) Write(ctx context.Context, dir string, epoch int64) error {
	for _, part := range c.Parts {
		if err := writePart(ctx, filepath.Join(dir, filepath.FromSlash(part.Label)), part); err != nil {
			return fmt.Errorf("copy files of %s: %w", cmp.Or(part.Owner, dockerfile), err)
		}
	}
	return normalise(dir, time.Unix(epoch, 0))
}

func writePart(ctx context.Context, target string, part ContextPart) error {
	var from *cache.Dir // generated files are read from nowhere
	if part.Dir != "" {
		var err error
		if from, err = cache.OpenDir(part.Dir); err != nil {
			return err
		}
		defer from.Close()
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	to, err := os.OpenRoot(target)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	for _, file := range part.Tree.Files() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := copyFile(from, to, file); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from *cache.Dir, to *os.Root, file cache.File) error {
	name := filepath.FromSlash(file.Path)
	if err := to.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if file.Kind == cache.Symlink {
		return to.Symlink(file.Link, name)
	}
	mode := fs.FileMode(0o644)
	if file.Exec {
		mode = 0o755
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = file.CopyTo(out, from)
	return errors.Join(err, out.Chmod(mode), out.Close()) // a umask has its say in OpenFile
}

// normalise gives everything in dir, and dir itself, the modes of directories
// and the times that layers have. A directory's time is set after what it holds:
// files that appear change it.
func normalise(dir string, at time.Time) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, name)
			return nil
		}
		return errors.Join(err, setTime(name, at))
	})
	if err != nil {
		return err
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if err := errors.Join(os.Chmod(dirs[i], 0o755), setTime(dirs[i], at)); err != nil {
			return err
		}
	}
	return nil
}

// setTime sets the times of a file, or of a link itself.
func setTime(name string, at time.Time) error {
	stamp := unix.NsecToTimespec(at.UnixNano())
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{stamp, stamp}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("set time of %s: %w", filepath.Base(name), err)
	}
	return nil
}
