package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// place checks what holds of a package as a whole: it is in the table, its name
// says something, and it says what it is.
func (l Law) place(p dir) []Violation {
	var found []Violation
	if _, known := l.Rooms[p.path]; !known {
		found = append(found, Violation{p.path, "no room of this name: enter it in the table of internal/arch on purpose"})
	}
	if named := p.files[0].syntax.Name.Name; slices.Contains(l.Banned, named) || slices.Contains(l.Banned, path.Base(p.path)) {
		found = append(found, Violation{p.path, "the package's name says nothing"})
	}
	documented := func(f file) bool { return f.syntax.Doc != nil }
	if !slices.ContainsFunc(p.files, documented) {
		found = append(found, Violation{p.path, "no package comment"})
	}
	return found
}

// imports checks one file's imports against the table of rooms and the owners.
func (l Law) imports(p dir, f file) []Violation {
	var found []Violation
	for _, i := range f.imports() {
		if what := l.forbids(p.path, f.isTest(), i.path); what != "" {
			found = append(found, Violation{f.at(i.pos), what})
		}
	}
	return found
}

// forbids says why room may not import name, or "".
func (l Law) forbids(room string, test bool, name string) string {
	if ours, ok := l.room(name); ok {
		if test || matches(l.Rooms[room].Imports, ours) {
			return ""
		}
		return fmt.Sprintf("%s may not import %s", room, ours)
	}
	for _, owner := range l.Owners {
		if !within(name, owner.Module) || matches(owner.Rooms, room) || test && matches(owner.Tests, room) {
			continue
		}
		return fmt.Sprintf("%s may not import %s: only %s may", room, name, strings.Join(owner.Rooms, ", "))
	}
	return ""
}

// room is the directory of an import path of the tree itself.
func (l Law) room(name string) (string, bool) {
	if name == l.Module {
		return ".", true
	}
	return strings.CutPrefix(name, l.Module+"/")
}

// calls checks that only a main package ends the process, and that nobody else
// writes to its standard output.
func calls(f file) []Violation {
	if f.isTest() || f.syntax.Name.Name == "main" {
		return nil
	}
	var found []Violation
	for _, use := range f.uses() {
		switch {
		case use.of == "os" && use.name == "Exit",
			use.of == "syscall" && use.name == "Exit",
			use.of == "log" && strings.HasPrefix(use.name, "Fatal"):
			found = append(found, Violation{f.at(use.pos), "only main exits"})
		case use.of == "fmt" && strings.HasPrefix(use.name, "Print"):
			found = append(found, Violation{f.at(use.pos), "prints unasked: return a value, send an event or take a writer"})
		}
	}
	return found
}

// within tells whether an import path is a module's root or below it.
func within(name, module string) bool {
	return name == module || strings.HasPrefix(name, module+"/")
}

func matches(list []string, room string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, room)
}
