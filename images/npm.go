package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

const (
	npmModules = "node_modules"
	// npmTree is where npm writes down what it installed.
	npmTree = npmModules + "/.package-lock.json"
	// maxNPMFile bounds lockfiles: the largest known are some 10 MiB.
	maxNPMFile = 64 << 20
)

// install is one directory whose packages are installed, for one platform.
type install struct {
	templates.Install
	step   graph.ID
	source orchestrator.Source
	npm    templates.NPM
	epoch  time.Time
	target npmTarget
	// prefix is where the packages go in the image.
	prefix string
	// files are what npm gets to see, by name.
	files map[string][]byte
}

// installs are the layers of packages, one for each install of the recipe.
func (n *Native) installs(ctx context.Context, step orchestrator.Step, target npmTarget) ([]layer, error) {
	layers := make([]layer, len(step.Recipe.Installs))
	for i, one := range step.Recipe.Installs {
		if i >= len(step.Sources) {
			return nil, fmt.Errorf("%s installs in %d directories and is given %d", step.ID, len(layers), len(step.Sources))
		}
		job := install{
			Install: one, step: step.ID, source: step.Sources[i], npm: step.Recipe.NPM, epoch: epoch(&step.Recipe), target: target,
			prefix: path.Join(place(step.Recipe.Workdir, one.Label), npmModules),
		}
		var err error
		if layers[i], err = n.install(ctx, job); err != nil {
			return nil, err
		}
	}
	return layers, nil
}

func (n *Native) install(ctx context.Context, job install) (layer, error) {
	if err := job.read(); err != nil {
		return layer{}, fmt.Errorf("install packages of %s: %w", job.source.Component, err)
	}
	lock, err := job.check()
	if err != nil {
		return layer{}, err
	}
	run := func(ctx context.Context) (cache.Layer, error) { return n.runNPM(ctx, job) }
	if job.LockName == "" {
		// What is resolved today is not what is resolved tomorrow: not kept.
		kept, err := run(ctx)
		if err != nil {
			return layer{}, err
		}
		return newLayer(kept, "npm install in /"+path.Dir(job.prefix), packed{blobs: n.Blobs, again: run})
	}
	if lock.portable() {
		job.target = npmTarget{}
	}
	return n.keep(ctx, installKey(job), "npm ci in /"+path.Dir(job.prefix), run)
}

// read takes the files of the component that npm gets, as they were hashed.
func (job *install) read() error {
	root, err := os.OpenRoot(job.source.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	job.files = map[string][]byte{}
	for name, want := range map[string]string{"package.json": job.Package, job.LockName: job.Lock, ".npmrc": job.Config} {
		if name == "" {
			continue
		}
		data, err := readFile(root, name)
		if want == "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if cache.Digest(data).String() != want {
			return &cache.ChangedError{Path: name, Now: "its content is another"}
		}
		job.files[name] = data
	}
	return nil
}

func readFile(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxNPMFile {
		return nil, fmt.Errorf("%s is no regular file of up to %d MiB", name, maxNPMFile>>20)
	}
	return root.ReadFile(name)
}

// check refuses what npm would do wrong, or what it must not do.
func (job *install) check() (npmLock, error) {
	local, err := localDependency(job.files["package.json"])
	var lock npmLock
	if err == nil && job.LockName != "" {
		lock, err = parseNPMLock(job.files[job.LockName])
	}
	if err != nil {
		return npmLock{}, fmt.Errorf("install packages of %s: %w", job.source.Component, err)
	}
	if local = cmp.Or(local, lock.local()); local != "" {
		return npmLock{}, &LocalDependencyError{Component: job.source.Component, Dependency: local}
	}
	return lock, job.checkScripts(lock)
}

func (job *install) checkScripts(lock npmLock) error {
	if job.Scripts == "ignore" {
		return nil
	}
	if names := lock.scripts(job.target); len(names) > 0 {
		return &NeedsEngineError{Step: job.step, Owner: job.source.Component, What: "install scripts of " + strings.Join(names, ", ")}
	}
	return nil
}

// LocalDependencyError says that a package is taken from this machine.
type LocalDependencyError struct {
	Component string
	// Dependency is its name and where it is.
	Dependency string
}

func (e *LocalDependencyError) Error() string {
	return fmt.Sprintf("install packages of %s: %s is on this machine only", e.Component, e.Dependency)
}

// Hint is how to mend it.
func (e *LocalDependencyError) Hint() string {
	return "publish the package to a registry, or move its sources into the component and import them by path"
}

// installKey is of everything that decides what npm installs from a lockfile.
func installKey(job install) cache.Key {
	h := cache.NewHasher("toa/npm-layer/v1")
	h.Field("compression", compression)
	h.Field("epoch", job.epoch.Format(time.RFC3339))
	h.Field("prefix", job.prefix)
	for _, name := range slices.Sorted(maps.Keys(job.files)) {
		h.Field("file", name)
		h.Key("content", cache.Digest(job.files[name]))
	}
	h.Field("scripts", job.Scripts)
	h.Field("registry", job.npm.Registry)
	h.Field("os", job.target.os)
	h.Field("cpu", job.target.cpu)
	h.Field("libc", job.target.libc)
	return h.Sum()
}

// runNPM lets npm install in a directory of its own and packs the result.
func (n *Native) runNPM(ctx context.Context, job install) (made cache.Layer, err error) {
	dir, err := n.Blobs.Temp("npm")
	if err != nil {
		return cache.Layer{}, fmt.Errorf("install packages of %s: %w", job.source.Component, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	work := filepath.Join(dir, "component")
	if err := job.write(work); err != nil {
		return cache.Layer{}, fmt.Errorf("install packages of %s: %w", job.source.Component, err)
	}
	if err := n.npm(ctx, job, work, dir); err != nil {
		return cache.Layer{}, err
	}
	if err := job.verify(work); err != nil {
		return cache.Layer{}, err
	}
	tree, err := installedTree(work)
	if err != nil {
		return cache.Layer{}, fmt.Errorf("install packages of %s: %w", job.source.Component, err)
	}
	if job.LockName == "" {
		n.notice(fmt.Sprintf("%s has no lockfile: its packages are not reproducible (resolved now: %s)", job.source.Component, tree.Key.Tag()))
	}
	parts := []part{{prefix: job.prefix, dir: filepath.Join(work, npmModules), owner: job.source.Component, tree: tree}}
	return pack(ctx, n.Blobs, parts, job.epoch)
}

func (n *Native) notice(text string) {
	if n.Observe != nil {
		n.Observe(orchestrator.NoticeEvent{Text: text})
	}
}

func (job *install) write(work string) error {
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	for name, data := range job.files {
		if err := os.WriteFile(filepath.Join(work, name), data, 0o600); err != nil {
			return err
		}
	}
	return os.Mkdir(filepath.Join(work, npmModules), 0o700)
}

// verify looks at what npm has installed: without a lockfile, or with an old
// one, nobody knew before.
func (job *install) verify(work string) error {
	data, err := os.ReadFile(filepath.Join(work, filepath.FromSlash(npmTree)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there was nothing to install
	}
	if err != nil {
		return fmt.Errorf("install packages of %s: %w", job.source.Component, err)
	}
	lock, err := parseNPMLock(data)
	if err != nil {
		return fmt.Errorf("install packages of %s: %w", job.source.Component, err)
	}
	return job.checkScripts(lock)
}

// installedTree lists node_modules. Links must stay in the component: they are
// read where only the component is.
func installedTree(work string) (*cache.Tree, error) {
	root, err := os.OpenRoot(filepath.Join(work, npmModules))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var files []cache.File
	err = fs.WalkDir(root.FS(), ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := cache.FileAt(root, at)
		if err != nil {
			return err
		}
		target := path.Join(npmModules, path.Dir(at), file.Link)
		if file.Kind == cache.Symlink && (path.IsAbs(file.Link) || !fs.ValidPath(target)) {
			return fmt.Errorf("link %q leaves the component: it points to %q", path.Join(npmModules, at), file.Link)
		}
		files = append(files, file)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return cache.NewTree(files), nil
}

// npm runs the child and passes its lines on.
func (n *Native) npm(ctx context.Context, job install, work, temporary string) error {
	var said npmErrors
	c := command{
		name: n.NPM,
		args: n.npmArgs(job, work),
		dir:  work,
		env:  npmEnvironment(os.Environ(), temporary),
		line: func(stream, text string) {
			said.add(text)
			if n.Observe != nil {
				n.Observe(orchestrator.LogEvent{ID: job.step, Stream: stream, Text: text})
			}
		},
	}
	if c.name == "" {
		c.name = "npm"
	}
	err := c.run(ctx)
	var missing *NoCommandError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return fmt.Errorf("install packages of %s: %w", job.source.Component, missing)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return &NPMError{Component: job.source.Component, Command: "npm " + c.args[0], Said: said.lines, cause: err}
	}
}

func (n *Native) npmArgs(job install, work string) []string {
	args := []string{"ci"}
	if job.LockName == "" {
		args = []string{"install", "--no-package-lock", "--no-save"}
	}
	args = append(args, "--prefix="+work, "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--no-update-notifier", "--no-workspaces")
	if job.target != (npmTarget{}) {
		args = append(args, "--os="+job.target.os, "--cpu="+job.target.cpu, "--libc="+job.target.libc)
	}
	if n.NPMCache != "" {
		args = append(args, "--cache="+n.NPMCache)
	}
	if job.npm.Registry != "" {
		args = append(args, "--registry="+job.npm.Registry)
	}
	if job.npm.Proxy != "" {
		args = append(args, "--proxy="+job.npm.Proxy, "--https-proxy="+job.npm.Proxy)
	}
	return args
}

// npmEnvironment is what npm gets of ours: what finds programs, registries and
// their credentials. Nothing else can then change what is installed.
func npmEnvironment(all []string, temporary string) []string {
	env := []string{"TMPDIR=" + temporary, "NODE_ENV=production"}
	for _, line := range all {
		name, _, _ := strings.Cut(line, "=")
		lower := strings.ToLower(name)
		switch {
		case slices.Contains(npmOwn, lower):
		case slices.Contains(npmPasses, lower), strings.HasPrefix(lower, "npm_config_"), strings.HasPrefix(name, "NPM_"):
			env = append(env, line)
		}
	}
	return env
}

var (
	npmPasses = []string{
		"path", "home", "user", "lang", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
		"ssl_cert_file", "ssl_cert_dir", "node_extra_ca_certs", "node_auth_token",
	}
	// npmOwn say where npm itself was started, when it is npm that runs us.
	npmOwn = []string{"npm_config_prefix", "npm_config_local_prefix", "npm_config_global_prefix", "npm_config_global", "npm_config_omit", "npm_config_include"}
)

// NPMError says that npm failed.
type NPMError struct {
	Component, Command string
	// Said are the first lines of npm's own account.
	Said []string

	cause error
}

func (e *NPMError) Error() string {
	text := fmt.Sprintf("install packages of %s: %s: %v", e.Component, e.Command, e.cause)
	if len(e.Said) > 0 {
		text += ": " + strings.Join(e.Said, "; ")
	}
	return text
}

func (e *NPMError) Unwrap() error { return e.cause }

// Hint is how to mend it.
func (e *NPMError) Hint() string {
	if slices.Contains(e.Said, "code EUSAGE") {
		return "run npm install in the component, so that its lockfile fits its package.json"
	}
	return "run the same in the component to see more: " + e.Command + " --omit=dev --ignore-scripts"
}

// maxSaid is how many lines of npm's errors are kept: what follows is usage.
const maxSaid = 4

// npmErrors collects what npm says of its failure.
type npmErrors struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (e *npmErrors) add(line string) {
	text, ok := strings.CutPrefix(line, "npm error ")
	if !ok {
		text, ok = strings.CutPrefix(line, "npm ERR! ") // before npm 10
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if text = strings.TrimSpace(text); ok && text != "" && len(e.lines) < maxSaid {
		e.lines = append(e.lines, text)
	}
}
