package workspace

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"toa.io/toa/document"
)

// Load reads the workspace at the root of fsys as it is in an environment: a
// name, several joined by colons of which the first that fits counts, or empty.
// The memo may be nil. What is wrong comes as *Errors: all mistakes of all files.
func Load(fsys fs.FS, environment string, memo Memo) (*Workspace, error) {
	l := &loading{source: source{fsys: fsys, memo: memo}, environment: environment, near: map[*Component][]dependency{}}
	file := l.context()
	if file == nil {
		return nil, l.failure()
	}
	read := l.manifests(l.discover(file.packages))
	l.components(read, file.context.Registry.Build.Scripts)
	l.invite(file)
	l.link()
	l.evict(file)
	compositions := l.compose(file)
	if len(l.errors) > 0 {
		return nil, l.failure()
	}
	first, _, _ := strings.Cut(environment, ":")
	return &Workspace{
		Environment:  first,
		Context:      file.context,
		Components:   l.found,
		Compositions: compositions,
		Notices:      notices(l.mentioned),
	}, nil
}

// ReadContext reads the context alone, as Load does: components are not looked
// for. What is wrong comes as *Errors.
func ReadContext(fsys fs.FS, environment string) (Context, error) {
	l := &loading{source: source{fsys: fsys}, environment: environment}
	file := l.context()
	if len(l.errors) > 0 {
		return Context{}, l.failure()
	}
	return file.context, nil
}

// loading is a Load under way.
type loading struct {
	source
	environment string
	errors      []*Error
	mentioned   []mentioned
	// found are the components whose manifests could be read as far as their
	// names, by ID.
	found []*Component
	// near are the dependencies of components that are, or may be, on this
	// machine.
	near map[*Component][]dependency
	// unnamed says that there may be components that could not be found or
	// read that far.
	unnamed bool
}

// mentioned is a mention with its file.
type mentioned struct {
	file string
	mention
}

func (l *loading) mention(file string, mentions []mention) {
	for _, m := range mentions {
		l.mentioned = append(l.mentioned, mentioned{file, m})
	}
}

func (l *loading) failure() error {
	failure := &Errors{List: l.errors, Notices: notices(l.mentioned)}
	failure.Sort()
	return failure
}

// context reads the context; nil means that there is nothing to go on with.
func (l *loading) context() *contextFile {
	r := newReader(ContextFile)
	defer func() { l.errors = append(l.errors, r.Errors()...) }()
	file := &contextFile{}
	schema := contextSchema + "@" + l.environment
	if l.recall(ContextFile, schema, file.visit) {
		l.mention(ContextFile, file.mentions)
		return file
	}
	names := r.parseChain(l.environment)
	data, err := l.content(ContextFile, maxContext)
	if err != nil {
		r.unreachable(err, "expected a context here, found no such file")
		return nil
	}
	root := r.Parse(data)
	if root == nil {
		return nil
	}
	file = r.context(r.overlay(root, names))
	l.mention(ContextFile, file.mentions)
	if len(r.Errors()) == 0 {
		l.keep(ContextFile, schema, data, file.visit)
	}
	return file
}

// discover finds the directories of components; an empty glob was reported.
func (l *loading) discover(pattern string) []string {
	if pattern == "" {
		l.unnamed = true
		return nil
	}
	dirs, errors := discover(l.fsys, pattern)
	l.unnamed = len(errors) > 0
	l.errors = append(l.errors, errors...)
	if len(dirs) == 0 && len(l.errors) == 0 {
		l.errors = append(l.errors, noComponents(pattern))
	}
	return dirs
}

// outcome is what was read of one component.
type outcome struct {
	component *Component
	near      []dependency // that its package.json states
	mentions  []mention
	errors    []*Error
}

// manifests reads components side by side: waiting for a disk is most of it.
func (l *loading) manifests(dirs []string) []outcome {
	above := &modules{source: &l.source, known: map[string]string{}}
	for _, dir := range dirs {
		above.of(path.Dir(dir))
	}
	l.errors = append(l.errors, above.errors...)

	read := make([]outcome, len(dirs))
	inParallel(len(dirs), func(i int) {
		read[i] = l.source.component(dirs[i], above.known[path.Dir(dirs[i])])
	})
	return read
}

// inParallel visits n things side by side, for waiting for a disk is most of
// what visit does.
func inParallel(n int, visit func(i int)) {
	const readers = 4
	size := (n + readers - 1) / readers
	var group sync.WaitGroup
	for start := 0; start < n; start += size {
		group.Go(func() {
			for i := start; i < min(start+size, n); i++ {
				visit(i)
			}
		})
	}
	group.Wait()
}

// component reads a directory's manifest and package.json.
func (s *source) component(dir, module string) outcome {
	r := newReader(path.Join(dir, ManifestFile))
	file := s.manifest(dir, r, manifestSchema)
	npm := newReader(path.Join(dir, packageName))
	facts := s.npm(npm)
	var inherited []*Error
	if file != nil {
		inherited = s.inherit(r, file)
	}
	out := outcome{errors: slices.Concat(r.Errors(), npm.Errors(), inherited)}
	if file == nil {
		return out
	}
	c := &file.component
	c.Module = module
	if facts != nil {
		c.HasPackage, c.HasDependencies = true, facts.dependencies
		out.near = facts.near
	}
	if c.HasDependencies {
		c.Lock = s.lockfile(dir)
	}
	out.component, out.mentions = c, file.mentions
	return out
}

// manifest reads that of a component, or of a prototype: the schema of its memo
// tells which.
func (s *source) manifest(dir string, r *reader, schema string) *manifestFile {
	file := &manifestFile{}
	// A component may be a prototype as well: its memo is as good.
	if s.recall(r.File(), manifestSchema, file.visit) || schema != manifestSchema && s.recall(r.File(), schema, file.visit) {
		file.component.settle(dir, r.File())
		return file
	}
	data, err := s.content(r.File(), maxManifest)
	if err != nil {
		missing := "expected a manifest here, for the directory matches `packages` of " + ContextFile + ", found no such file"
		if schema == prototypeSchema {
			missing = "expected a manifest here, for it is the prototype of a component, found no such file"
		}
		r.unreachable(err, missing)
		return nil
	}
	root := r.Parse(data)
	if root == nil {
		return nil
	}
	file = r.manifest(dir, root, schema == prototypeSchema)
	if len(r.Errors()) == 0 {
		s.keep(r.File(), schema, data, file.visit)
	}
	file.component.settle(dir, r.File())
	return file
}

// components gathers what was read, sorted by ID, and refuses twins.
func (l *loading) components(read []outcome, scripts string) {
	ids := make(map[string]*Component, len(read))
	labels := make(map[string]*Component, len(read))
	l.found = make([]*Component, 0, len(read))
	for i := range read {
		one := &read[i]
		l.errors = append(l.errors, one.errors...)
		c := one.component
		if c == nil || c.ID == "" {
			l.unnamed = true
			continue
		}
		l.mention(c.Position.File, one.mentions)
		if c.Build.Scripts == "" {
			c.Build.Scripts = scripts
		}
		switch {
		case ids[c.ID] != nil:
			l.twin(c, ids[c.ID], "component "+document.Quote(c.ID))
			continue
		case labels[c.Label] != nil:
			l.twin(c, labels[c.Label], "component "+document.Quote(c.ID)+" (in lower case)")
		}
		ids[c.ID], labels[c.Label] = c, c
		l.found, l.near[c] = append(l.found, c), one.near
	}
	slices.SortFunc(l.found, func(a, b *Component) int { return strings.Compare(a.ID, b.ID) })
}

func (l *loading) twin(c, first *Component, what string) {
	l.errors = append(l.errors, &Error{
		Position: c.Position,
		Msg:      what + ": expected a name of its own, " + document.Printable(first.Position.File) + " has it already",
		Fix:      "rename one of them",
	})
}

// notices says everything once, with all places.
func notices(all []mentioned) []Notice {
	byText := make(map[string][]Position)
	for _, m := range all {
		byText[m.text] = append(byText[m.text], Position{File: m.file, Line: m.at.Line, Column: m.at.Column})
	}
	list := make([]Notice, 0, len(byText))
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		slices.SortFunc(byText[text], Position.Compare)
		list = append(list, Notice{Text: text, Positions: byText[text]})
	}
	return list
}
