package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"toa.io/toa/cache"
	"toa.io/toa/extensions"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

// globals are what every command shares.
type globals struct {
	io       IO
	path     string
	cacheDir string
	sources  string
	// staged is the workspace that was made of sources, nil without them.
	staged *staged
}

func (g *globals) warn(text string) { fmt.Fprintf(g.io.Err, "toa: %s\n", ui.Escape(text)) }

// start is where the search for the workspace begins: under `bazel run`, the
// directory in which that was typed.
func (g *globals) start() string {
	base := g.io.Env("BUILD_WORKING_DIRECTORY")
	if g.path == "" {
		if base != "" {
			return base
		}
		return "."
	}
	if base != "" && !filepath.IsAbs(g.path) {
		return filepath.Join(base, g.path)
	}
	return g.path
}

// cachePath is the directory that holds everything that is kept between runs.
// Where it cannot be written, or none is known (a Bazel sandbox has no HOME),
// it is one below the temporary directory, which lasts as long as that does.
func (g *globals) cachePath() (string, error) {
	dir := cmp.Or(g.cacheDir, g.io.Env("TOA_CACHE_DIR"))
	if dir == "" {
		user, _ := os.UserCacheDir()
		if user == "" {
			return spareCache(), nil
		}
		dir = filepath.Join(user, "toa")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := writable(dir); err != nil {
		g.warn(fmt.Sprintf("going on without the cache in %s: %v; using %s", dir, err, spareCache()))
		return spareCache(), nil
	}
	return dir, nil
}

func spareCache() string { return filepath.Join(os.TempDir(), fmt.Sprintf("toa-%d", os.Geteuid())) }

// writable tells whether a directory can be written, or made where it is not
// there yet, without touching anything.
func writable(dir string) error {
	for {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir:
			dir = filepath.Dir(dir)
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is not a directory", dir)
		}
		if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
			return fmt.Errorf("%s cannot be written: %w", dir, err)
		}
		return nil
	}
}

// databases are the two files of the cache: what files hash to, and what was
// published. They are apart because they are trusted differently.
func databases(cacheDir string, warn func(string)) (files, index *cache.DB) {
	dir := filepath.Join(cacheDir, "db")
	files, index = cache.OpenDB(filepath.Join(dir, "files.db"), warn), cache.OpenDB(filepath.Join(dir, "index.db"), warn)
	files.Volatile = true // a record of a file counts only while the file's stamp says so
	return files, index
}

// session is one workspace, read for one environment.
type session struct {
	*globals
	root      string // absolute
	chain     string // the environment as it was typed
	workspace *workspace.Workspace
	// units are what runs, as far as images go; deployment is all of it, nil
	// until it is declared.
	units []orchestrator.Unit
	mono  bool
	// askedForeign says that a package that toa does not know was asked.
	askedForeign bool
	deployment   *extensions.Deployment
	lock         *workspace.Lock
	files        *cache.Files
	index        *cache.Index
	// notice tells a person what stops nothing: warn, until a run has a sink.
	notice func(text string)
	// consult asks what other machines have published; nil where nobody shares.
	consult  func(context.Context)
	cache    string
	registry string
	ignore   []string
	time     int64 // that files in images carry
	// templates are the workspace's own, by kind of image.
	templates map[string]string
}

// open finds and reads the workspace. The caller closes the session.
func (g *globals) open(environment string) (*session, error) {
	s, err := g.enter(environment)
	if err != nil {
		return nil, err
	}
	if err := s.read(""); err != nil {
		_ = s.files.Close()
		return nil, err
	}
	return s, nil
}

// enter finds the workspace and opens what is known of it. The caller closes the
// session.
func (g *globals) enter(environment string) (*session, error) {
	found, err := workspace.Find(g.start())
	if err != nil {
		return nil, err
	}
	root, err := filepath.Abs(found)
	if err != nil {
		return nil, err
	}
	cacheDir, err := g.cachePath()
	if err != nil {
		return nil, err
	}
	filesDB, indexDB := databases(cacheDir, g.warn)
	files, err := cache.OpenFiles(filesDB, root)
	if err != nil {
		return nil, err
	}
	return &session{globals: g, root: root, chain: environment, files: files, index: cache.NewIndex(indexDB), cache: cacheDir, notice: g.warn}, nil
}

func (s *session) read(registry string) (err error) {
	files := s.files.FS()
	if s.workspace, err = workspace.Load(files, s.chain, s.files); err != nil {
		return err
	}
	if s.staged != nil {
		// Without a lockfile that was not declared, keys are others than in a shell.
		if err := s.checkLockfiles(); err != nil {
			return err
		}
	}
	if s.registry = strings.TrimSuffix(registry, "/"); s.registry == "" {
		s.registry = s.workspace.Context.Registry.Base
	}
	if s.lock, err = readLock(files); err != nil {
		return err
	}
	if s.time, err = s.epoch(); err != nil {
		return err
	}
	if s.templates, err = readTemplates(files); err != nil {
		return err
	}
	text, err := fs.ReadFile(files, cache.IgnoreFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		s.ignore, err = cache.ParseIgnore(cache.IgnoreFile, string(text))
	}
	if err != nil {
		return &configurationError{err}
	}
	return nil
}

// close keeps what was learnt of files.
func (s *session) close() {
	s.files.Save()
	_ = s.files.Close()
	s.staged.release()
}

func (s *session) planner() orchestrator.Planner {
	return orchestrator.Planner{
		Workspace: s.workspace,
		Root:      s.root,
		Files:     s.files,
		Index:     s.index,
		Lock:      s.lock,
		Registry:  s.registry,
		Ignore:    s.ignore,

		Units:     s.units,
		Installed: s.installed,
		Templates: s.templates,
		Epoch:     s.time,
		Shared:    s.consult,
	}
}

// notices prints what was read and is not acted upon.
func (s *session) notices() {
	for _, n := range s.workspace.Notices {
		writeNotice(s.io.Err, n)
	}
}

func readLock(files fs.FS) (*workspace.Lock, error) {
	data, err := fs.ReadFile(files, workspace.LockFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &configurationError{fmt.Errorf("read lock: %w", err)}
	}
	return workspace.ParseLock(data)
}
