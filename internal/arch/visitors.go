package arch

import (
	"io/fs"
	"slices"
)

// Visitors lists, for each room, the rooms that its Bazel target has to be
// visible to: those that the table lets import it, and those whose tests do,
// which may import more. Bazel does not tell tests from what they test, so this
// is weaker than Check; it keeps out whoever has no business in a room at all.
func Visitors(tree fs.FS, law Law) (map[string][]string, error) {
	packages, err := read(tree)
	if err != nil {
		return nil, err
	}
	visitors := map[string][]string{}
	for _, p := range packages {
		for room := range law.Rooms {
			if room != p.path && (matches(law.Rooms[p.path].Imports, room) || law.tested(p, room)) {
				visitors[room] = append(visitors[room], p.path)
			}
		}
	}
	for _, rooms := range visitors {
		slices.Sort(rooms)
	}
	return visitors, nil
}

// tested tells whether tests of a package import a room.
func (l Law) tested(p dir, room string) bool {
	return slices.ContainsFunc(p.files, func(f file) bool {
		return f.isTest() && slices.ContainsFunc(f.imports(), func(i imported) bool {
			ours, ok := l.room(i.path)
			return ok && ours == room
		})
	})
}
