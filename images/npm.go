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
	"strconv"
	"strings"
	"sync"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
	"toa.io/toa/internal/failpoint"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

const (
	npmModules  = "node_modules"
	npmConfig   = ".npmrc"
	npmLockfile = "package-lock.json"
	// npmTree is where npm writes down what it installed.
	npmTree = npmModules + "/.package-lock.json"
	// maxNPMFile bounds lockfiles: the largest known are some 10 MiB.
	maxNPMFile = 64 << 20
)

// install is one directory whose packages are installed.
type install struct {
	templates.Install
	step   graph.ID
	source orchestrator.Source
	npm    templates.NPM
	epoch  time.Time
	// prefix is where the packages go in the image.
	prefix string
	// beside says that they go where the base has packages of its own.
	beside bool
	// files are what npm gets to see, by slash path.
	files map[string][]byte
	lock  npmLock
	// target is the platform, or zero where all get the same.
	target npmTarget
	// anew says that what was installed before does not count.
	anew bool
	// shared is the layer that all platforms get, once it is made.
	shared *layer
}

// planInstalls reads what is to be installed, once for all platforms: where
// there is no lockfile npm makes one first, so that they get the same.
func (n *Native) planInstalls(ctx context.Context, step orchestrator.Step) ([]install, error) {
	jobs, err := planned(step)
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		job := &jobs[i]
		if err := job.read(); err != nil {
			return nil, fmt.Errorf("install packages of %s: %w", job.source.Component, err)
		}
		if err := n.lockfile(ctx, job); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// planned are the installs of a recipe: its members', and what extensions need.
func planned(step orchestrator.Step) ([]install, error) {
	recipe := &step.Recipe
	jobs := make([]install, 0, len(recipe.Installs)+1)
	for i, one := range recipe.Installs {
		if i >= len(step.Sources) {
			return nil, fmt.Errorf("%s installs in %d directories and is given %d", step.ID, len(recipe.Installs), len(step.Sources))
		}
		jobs = append(jobs, install{
			Install: one, step: step.ID, source: step.Sources[i], npm: recipe.NPM, epoch: epoch(recipe),
			prefix: path.Join(place(recipe.Workdir, one.Label), npmModules),
		})
	}
	if len(recipe.Packages) > 0 {
		jobs = append(jobs, extensionPackages(step))
	}
	for i := range jobs {
		jobs[i].anew = step.Anew
	}
	return jobs, nil
}

// installs are the layers of packages for one platform, in the order of jobs.
func (n *Native) installs(ctx context.Context, jobs []install, target npmTarget) ([]layer, error) {
	layers := make([]layer, len(jobs))
	for i, job := range jobs {
		job.target = target
		if err := job.check(); err != nil {
			return nil, err
		}
		if job.shared != nil {
			layers[i] = *job.shared
			continue
		}
		if job.lock.portable() {
			job.target = npmTarget{}
			jobs[i].shared = &layers[i]
		}
		run := func(ctx context.Context) (cache.Layer, error) { return n.runNPM(ctx, job) }
		var err error
		if layers[i], err = n.keep(ctx, installKey(job), job.made(), job.anew, run); err != nil {
			return nil, err
		}
	}
	return layers, nil
}

// made is what history says of the layer. Without a lockfile it records what
// was resolved.
func (job *install) made() string {
	made := "npm ci in /" + path.Dir(job.prefix)
	if job.LockName == "" {
		made = "npm install in /" + path.Dir(job.prefix) + " (resolved " + job.resolved() + ")"
	}
	return made
}

// resolved names the packages that npm has chosen.
func (job *install) resolved() string { return cache.Digest(job.files[npmLockfile]).Tag() }

// read takes the files of the component that npm gets, as they were hashed.
func (job *install) read() error {
	if job.beside {
		return nil // it is made of the recipe
	}
	root, err := os.OpenRoot(job.source.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	job.files = map[string][]byte{}
	settings, lockName := root, job.LockName
	if job.source.Shared != nil {
		repository, err := job.share()
		if err != nil {
			return err
		}
		defer func() { _ = repository.Close() }()
		if _, err := root.Stat(npmConfig); errors.Is(err, fs.ErrNotExist) {
			settings = repository
		}
		lockName = ""
	}
	for _, file := range []struct {
		root       *os.Root
		name, want string
	}{{root, "package.json", job.Package}, {root, lockName, job.Lock}, {settings, npmConfig, job.Config}} {
		if err := job.take(file.root, file.name, file.want); err != nil {
			return err
		}
	}
	return job.localize()
}

// take reads a file that has to be as it was hashed; one that was not there
// may be missing.
func (job *install) take(root *os.Root, name, want string) error {
	if name == "" {
		return nil
	}
	data, err := readFile(root, name)
	if want == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if cache.Digest(data).String() != want {
		return &cache.ChangedError{Path: name, Now: "its content is another"}
	}
	job.files[name] = data
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

// check refuses what npm would do wrong, or what it must not do, on the job's
// platform.
func (job *install) check() error {
	if lack := job.lock.lacks(job.target); lack != nil {
		lack.Component, lack.LockName = job.source.Component, job.LockName
		return lack
	}
	return job.checkScripts(job.lock)
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

// installKey is of everything that decides what npm installs from a lockfile.
// npm's version is no part of it, nor of a step's key: a lockfile says where
// each package goes, so the tree is the same; and to ask for the version costs
// a process, which planning must not start.
func installKey(job install) cache.Key {
	h := cache.NewHasher("toa/npm-layer/v2")
	h.Field("compression", compression)
	h.Field("epoch", job.epoch.Format(time.RFC3339))
	h.Field("prefix", job.prefix)
	for _, name := range slices.Sorted(maps.Keys(job.files)) {
		h.Field("file", name)
		h.Key("content", cache.Digest(job.files[name]))
	}
	h.Field("beside", strconv.FormatBool(job.beside))
	h.Field("scripts", job.Scripts)
	h.Field("registry", job.npm.Registry)
	h.Field("os", job.target.os)
	h.Field("cpu", job.target.cpu)
	h.Field("libc", job.target.libc)
	return h.Sum()
}

// privately gives npm the job's files in a directory of its own.
func (n *Native) privately(job *install, do func(work, temporary string) error) (err error) {
	dir, err := n.Blobs.Temp("npm")
	if err != nil {
		return fmt.Errorf("install packages of %s: %w", job.source.Component, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	work := filepath.Join(dir, "component")
	if err := job.write(work); err != nil {
		return fmt.Errorf("install packages of %s: %w", job.source.Component, err)
	}
	return do(work, dir)
}

// lockfile parses the job's lockfile. Where there is none npm makes one: it is
// as good as today's registry, which a notice says.
func (n *Native) lockfile(ctx context.Context, job *install) error {
	name := cmp.Or(job.LockName, npmLockfile)
	if job.LockName == "" {
		if err := n.resolve(ctx, job); err != nil {
			return err
		}
	}
	lock, err := parseNPMLock(job.files[name])
	if err != nil {
		return fmt.Errorf("install packages of %s: %w", job.source.Component, err)
	}
	job.lock = lock
	if job.LockName == "" && !job.beside {
		n.notice(fmt.Sprintf("%s has no lockfile: its packages are not reproducible (resolved now: %s)", job.source.Component, job.resolved()))
	}
	return nil
}

// resolve lets npm choose versions and write them down.
func (n *Native) resolve(ctx context.Context, job *install) error {
	return n.privately(job, func(work, temporary string) error {
		if err := n.npm(ctx, *job, work, temporary, "install", "--package-lock-only", "--package-lock"); err != nil {
			return err
		}
		data, err := os.ReadFile(filepath.Join(work, npmLockfile))
		if err != nil {
			return fmt.Errorf("install packages of %s: npm wrote no lockfile: %w", job.source.Component, err)
		}
		job.files[npmLockfile] = data
		return nil
	})
}

// runNPM lets npm install and packs the result.
func (n *Native) runNPM(ctx context.Context, job install) (made cache.Layer, err error) {
	err = n.privately(&job, func(work, temporary string) error {
		if err := n.npm(ctx, job, work, temporary, "ci", job.target.flags()...); err != nil {
			return err
		}
		if err := job.verify(work); err != nil {
			return err
		}
		if err := failpoint.At(failpoint.PackagesInstalled); err != nil {
			return err
		}
		tree, err := installedTree(work)
		if err != nil {
			return fmt.Errorf("install packages of %s: %w", job.source.Component, err)
		}
		if job.beside {
			tree = opaque(tree, job.packages())
		}
		made, err = pack(ctx, n.Blobs, []part{{prefix: job.prefix, dir: filepath.Join(work, npmModules), owner: job.source.Component, tree: tree}}, job.epoch)
		return err
	})
	return made, err
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
		at := filepath.Join(work, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(at, data, 0o600); err != nil {
			return err
		}
	}
	return os.Mkdir(filepath.Join(work, npmModules), 0o700)
}

// verify looks at what npm has installed: an old lockfile does not tell of
// install scripts.
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
func (n *Native) npm(ctx context.Context, job install, work, temporary, verb string, flags ...string) error {
	var said npmErrors
	c := Command{
		Name: cmp.Or(n.NPM, "npm"),
		Args: n.npmArgs(job, work, verb, flags),
		Dir:  work,
		Env:  npmEnvironment(os.Environ(), temporary),
		Fix:  "install Node.js 20 or later, which brings npm, and see that it is in PATH",
		Line: func(stream, text string) {
			said.add(text)
			if n.Observe != nil {
				n.Observe(orchestrator.LogEvent{ID: job.step, Stream: stream, Text: text})
			}
		},
	}
	err := c.Run(ctx)
	var missing *NoCommandError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return fmt.Errorf("install packages of %s: %w", job.source.Component, missing)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return &NPMError{Component: job.source.Component, Repository: job.repository(), Command: "npm " + c.Args[0], Said: said.lines, cause: err}
	}
}

func (n *Native) npmArgs(job install, work, verb string, flags []string) []string {
	args := append([]string{verb}, flags...)
	args = append(args, "--prefix="+work, "--omit=dev", "--ignore-scripts", "--install-links=false",
		"--no-audit", "--no-fund", "--no-progress", "--no-update-notifier", "--no-workspaces",
		"--omit-lockfile-registry-resolved=false") // a user's own setting would show in node_modules/.package-lock.json
	if job.beside {
		args = append(args, "--install-strategy=shallow", "--legacy-peer-deps")
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
	// Repository is the directory of the lockfile that several packages share,
	// or empty.
	Repository string
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
	says := func(code string) bool { return slices.Contains(e.Said, "code "+code) }
	switch {
	case says("EUSAGE") && e.Repository != "":
		return "run npm install in " + e.Repository + ", so that its lockfile fits the component's package.json"
	case says("EUSAGE"):
		return "run npm install in the component, so that its lockfile fits its package.json"
	case says("E401"), says("E403"), says("ENEEDAUTH"):
		return "let npm log in: //HOST/:_authToken=${NPM_TOKEN} in the component's .npmrc, and NPM_TOKEN in the environment"
	case says("E404"):
		return "npm finds it in no registry: name the registry in the component's .npmrc or in runtime.registry; a package of this repository has to be published, or to lie in the component"
	default:
		return "run the same in the component to see more: " + e.Command + " --omit=dev --ignore-scripts"
	}
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
