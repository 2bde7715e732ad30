package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"unicode/utf8"

	"toa.io/toa/document"
)

const packageName = "package.json"

// Module types of JavaScript, as package.json states them.
const (
	moduleCommon = "commonjs"
	moduleModern = "module"
)

// packageFile is what a package.json says, or that there is none.
type packageFile struct {
	absent       bool
	module       string
	dependencies bool
	// name is what others call the package, members are globs of directories
	// whose packages the repository consists of.
	name, version string
	members       []string
	// near are the dependencies that are, or may be, on this machine, by name.
	near []dependency
	// manager is set where another one than npm is to install the packages.
	manager foreignManager
}

// npm reads a package.json; nil means that there is none, or none that is right.
func (s *source) npm(r *reader) *packageFile {
	file := &packageFile{}
	if s.recall(r.File(), packageSchema, file.visit) {
		if file.absent {
			return nil
		}
		return file
	}
	data, err := s.content(r.File(), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		file = &packageFile{absent: true}
		s.keep(r.File(), packageSchema, nil, file.visit)
		return nil
	}
	if err != nil {
		r.unreachable(err, "")
		return nil
	}
	if file = r.npm(data); file != nil {
		s.keep(r.File(), packageSchema, data, file.visit)
	}
	return file
}

func (r *reader) npm(data []byte) *packageFile {
	text := bytes.TrimPrefix(data, document.ByteOrderMark)
	var says struct {
		Type                 string                     `json:"type"`
		Name                 json.RawMessage            `json:"name"`
		Version              json.RawMessage            `json:"version"`
		Workspaces           json.RawMessage            `json:"workspaces"`
		Dependencies         map[string]json.RawMessage `json:"dependencies"`
		OptionalDependencies map[string]json.RawMessage `json:"optionalDependencies"`
		PeerDependencies     json.RawMessage            `json:"peerDependencies"`
		PeerDependenciesMeta json.RawMessage            `json:"peerDependenciesMeta"`
		PackageManager       json.RawMessage            `json:"packageManager"`
	}
	if err := json.Unmarshal(text, &says); err != nil {
		r.Fail(jsonPlace(text, err), "", "%s", jsonProblem(err))
		return nil
	}
	file := &packageFile{module: moduleCommon, members: workspaces(says.Workspaces)}
	_ = json.Unmarshal(says.Name, &file.name) // one that is no text is nobody's
	_ = json.Unmarshal(says.Version, &file.version)
	file.manager = findManager(text, says.PackageManager)
	if says.Type == moduleModern {
		file.module = moduleModern
	}
	file.dependencies = len(says.Dependencies)+len(says.OptionalDependencies) > 0
	file.near = nearDependencies(text, map[string]map[string]json.RawMessage{
		"dependencies": says.Dependencies, "optionalDependencies": says.OptionalDependencies, "peerDependencies": neededPeers(says.PeerDependencies, says.PeerDependenciesMeta),
	})
	return file
}

// neededPeers are the peers that npm installs: not those that a package can do
// without, unless they are on this machine.
func neededPeers(stated, meta json.RawMessage) map[string]json.RawMessage {
	var peers map[string]json.RawMessage
	_ = json.Unmarshal(stated, &peers) // npm's to refuse
	var about map[string]struct{ Optional bool }
	_ = json.Unmarshal(meta, &about)
	maps.DeleteFunc(peers, func(name string, raw json.RawMessage) bool {
		var spec string
		return about[name].Optional && json.Unmarshal(raw, &spec) == nil && !IsLocal(spec)
	})
	return peers
}

func jsonProblem(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return "expected an object, found " + wrong.Value
		}
		return fmt.Sprintf("%s: expected %s, found %s", document.Printable(wrong.Field), jsonKind(wrong), wrong.Value)
	}
	return "not JSON: " + err.Error()
}

func jsonKind(wrong *json.UnmarshalTypeError) string {
	if wrong.Field == "type" {
		return "text"
	}
	return "an object"
}

// jsonPlace turns the offset of an error, which is behind what is wrong, into a
// place.
func jsonPlace(data []byte, err error) document.Place {
	offset := 0
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = int(syntax.Offset) - 1
	} else if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset = int(wrong.Offset) - 1
	}
	return placeAt(data, offset)
}

func placeAt(data []byte, offset int) document.Place {
	before := data[:min(max(offset, 0), len(data))]
	lineStart := bytes.LastIndexByte(before, '\n') + 1
	return document.Place{
		Line:   bytes.Count(before, []byte("\n")) + 1,
		Column: utf8.RuneCount(before[lineStart:]) + 1,
	}
}

// Lockfiles are the names of npm's lockfiles; it follows the first that is there.
var Lockfiles = []string{"npm-shrinkwrap.json", "package-lock.json"}

// lockfile names the lockfile in dir that npm would follow, or "".
func (s *source) lockfile(dir string) string {
	for _, name := range Lockfiles {
		if info, err := fs.Stat(s.fsys, path.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// modules are the module types that directories pass on to what is below them.
type modules struct {
	source *source
	known  map[string]string
	errors []*Error
}

// of finds the nearest package.json in dir or above.
func (m *modules) of(dir string) string {
	if module, known := m.known[dir]; known {
		return module
	}
	r := newReader(path.Join(dir, packageName))
	file := m.source.npm(r)
	m.errors = append(m.errors, r.Errors()...)
	module := moduleCommon
	switch {
	case file != nil:
		module = file.module
	case dir != ".":
		module = m.of(path.Dir(dir))
	}
	m.known[dir] = module
	return module
}
