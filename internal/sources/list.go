// Package sources makes a workspace of a list of files, for build systems that
// show what they run nothing but links to the files that were declared, and do
// not say which of them may be executed. It knows nothing of what is in them.
//
// Its users may rely on this: what is made holds exactly what the list names,
// so equal lists of equal files give equal trees, wherever the files are.
package sources

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// format is the first word of a list. Change what a list says, change it.
const format = "toa/sources/v1"

// List names the files of one workspace. A zero List names none.
//
// In writing, its first line is
//
//	toa/sources/v1 <files|runfiles> <repository> <directory>
//
// separated by tabs: how places are to be understood, the name of the main
// repository as runfiles have it, and the workspace's directory in that. Each
// further line is a kind, a path as Bazel's File.short_path states it, and what
// the kind says besides:
//
//	source|generated|program|built	where the file is, but among runfiles
//	link	where it leads
//	layout	where the directory is
//	finished	the same; instead of a path, the composition
type List struct {
	// Runfiles says that places are to be looked up among the runfiles of this process.
	Runfiles bool
	Entries  []Entry
}

// Kind says what an entry is.
type Kind string

// Kinds of entries.
const (
	// Source is a file that somebody wrote, Program one that may be executed.
	Source  Kind = "source"
	Program Kind = "program"
	// Generated and Built are the same of files that an action made, or directories of such.
	Generated Kind = "generated"
	Built     Kind = "built"
	// Link is a symbolic link that belongs to the workspace.
	Link Kind = "link"
	// Layout is a directory that holds an OCI image layout, Finished one whose
	// image is that of a composition.
	Layout   Kind = "layout"
	Finished Kind = "finished"
)

// finishedDir is where layouts of finished images stand in the workspace.
const finishedDir = ".finished"

// Entry is one file, link or directory of the workspace.
type Entry struct {
	Kind Kind
	// Path is a slash path below the workspace's directory.
	Path string
	// Composition is the name of that whose image is finished.
	Composition string
	// From is where the file is, or where the link leads.
	From string
	// tail is how the real path of a source ends, unless a link is in the way.
	tail string
}

// executable tells whether the file may be executed in the workspace.
func (e Entry) executable() bool { return e.Kind == Program || e.Kind == Built }

// written tells whether somebody wrote the file, so that links and modes are
// the workspace's own.
func (e Entry) written() bool { return e.Kind == Source || e.Kind == Program }

// Error is a list that cannot be followed.
type Error struct {
	// Path is the entry's, or empty.
	Path string
	Msg  string
	// Fix says how to mend it.
	Fix string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return "sources: " + e.Msg
	}
	return "sources: " + e.Path + " " + e.Msg
}

// Hint is how to mend it.
func (e *Error) Hint() string { return e.Fix }

// Mistake is true: it is found before anything is touched.
func (*Error) Mistake() bool { return true }

// Parse reads a list. It returns an *Error where a line says nothing that can
// be followed, where a path leaves the workspace, or where two entries want one path.
func Parse(data []byte) (List, error) {
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	head := strings.Split(string(first), "\t")
	if len(head) != 4 || head[0] != format || head[1] != "files" && head[1] != "runfiles" {
		return List{}, &Error{Msg: fmt.Sprintf("it is no list: expected it to begin with %q", format), Fix: "toa and its rules must be of one version"}
	}
	p := parser{runfiles: head[1] == "runfiles", repository: head[2], directory: path.Clean(head[3]), taken: map[string]Kind{}}
	for line := range strings.Lines(string(rest)) {
		if err := p.line(strings.TrimSuffix(line, "\n")); err != nil {
			return List{}, err
		}
	}
	return List{Runfiles: p.runfiles, Entries: p.entries}, p.nested()
}

type parser struct {
	runfiles              bool
	repository, directory string
	entries               []Entry
	taken                 map[string]Kind
}

func (p *parser) line(line string) error {
	fields := strings.Split(line, "\t")
	e := Entry{Kind: Kind(fields[0]), From: fields[len(fields)-1]}
	if len(fields) != p.width(e.Kind) {
		return &Error{Msg: fmt.Sprintf("cannot read %q", line), Fix: "toa and its rules must be of one version"}
	}
	switch stated := fields[1]; e.Kind {
	case Link, Layout:
		e.Path = path.Clean(stated)
	case Finished:
		e.Path, e.Composition = path.Join(finishedDir, stated), stated
	default:
		e.Path, e.tail = p.below(stated), inside(stated)
	}
	if p.runfiles && e.Kind != Link {
		e.From = path.Join(p.repository, e.From)
	}
	return p.add(e, fields[1])
}

// width is how many fields the line of an entry has; 0 for an unknown kind.
// Among runfiles a file is where its path says.
func (p *parser) width(kind Kind) int {
	switch kind {
	case Link, Layout, Finished:
		return 3
	case Source, Program, Generated, Built:
		if p.runfiles {
			return 2
		}
		return 3
	default:
		return 0
	}
}

// below is the path of a file below the workspace's directory, or "" if it is
// not there.
func (p *parser) below(short string) string {
	if p.directory == "." {
		return short
	}
	rest, ok := strings.CutPrefix(short, p.directory+"/")
	if !ok {
		return ""
	}
	return rest
}

// inside is a short path without the repository it is in.
func inside(short string) string {
	if rest, ok := strings.CutPrefix(short, "../"); ok {
		_, short, _ = strings.Cut(rest, "/")
	}
	return short
}

func (p *parser) add(e Entry, stated string) error {
	if e.Path == "." || !fs.ValidPath(e.Path) {
		return &Error{Path: stated, Msg: "is outside of the workspace, which is in " + p.directory, Fix: "what an image holds has to be below the directory of context.toa.yaml"}
	}
	if _, twice := p.taken[e.Path]; twice {
		return &Error{Path: e.Path, Msg: "is there twice", Fix: "it is in srcs, and generated, or in symlinks or images too: keep one"}
	}
	p.taken[e.Path] = e.Kind
	p.entries = append(p.entries, e)
	return nil
}

// nested finds entries below others that are no directories.
func (p *parser) nested() error {
	for _, e := range p.entries {
		for dir := path.Dir(e.Path); dir != "."; dir = path.Dir(dir) {
			if kind, ok := p.taken[dir]; ok && kind != Generated && kind != Built {
				return &Error{Path: e.Path, Msg: fmt.Sprintf("is below %s, which is a %s", dir, kind), Fix: "keep one of them"}
			}
		}
	}
	return nil
}
