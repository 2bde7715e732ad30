package chart

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"toa.io/toa/workspace"
)

// The component map tells every process what the others declare. Its ConfigMap
// is mounted at mapDirectory.
const (
	mapDirectory   = "/etc/toa"
	mapVolume      = "components"
	plainMap       = "components.json"
	compressedMap  = ".map.json.gz"
	compressAbove  = 700 << 10
	maxMap         = 950 << 10 // Kubernetes takes 1 MiB for the whole ConfigMap
	versionDigits  = 32
	entrySize      = len(`  "": ` + `"version": "",` + "\n    " + ",\n") // besides ID, version and contract
	contractIndent = 1
)

// MapPath is where a process finds the component map. The recipes of images
// name it, so it is known before any version is: it depends on the declarations
// and the stated versions only.
func MapPath(ws *workspace.Workspace) string { return mapDirectory + "/" + mapFile(ws) }

func mapFile(ws *workspace.Workspace) string {
	size := 0
	for _, c := range ws.Components {
		version := len(c.Version)
		if version == 0 {
			version = versionDigits
		}
		size += entrySize + len(c.ID) + version + spread(c.Contract, contractIndent)
		if size > compressAbove {
			return compressedMap
		}
	}
	return plainMap
}

// spread is how long JSON gets when json.Indent writes it over lines from the
// given depth on; empty objects and lists count a little more than they take.
// Indenting itself would take longer than the rest of a plan.
func spread(raw []byte, depth int) int {
	size, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch b := raw[i]; {
		case quoted:
			size++
			if b == '\\' {
				size++
				i++
			}
			quoted = b != '"'
		case b == '"':
			size++
			quoted = true
		case b == ' ' || b == '\n' || b == '\t' || b == '\r':
		case b == ':':
			size += len(": ")
		case b == ',':
			size += len(",\n") + 2*depth
		case b == '{' || b == '[':
			depth++
			size += len("{\n") + 2*depth
		case b == '}' || b == ']':
			depth--
			size += len("\n}") + 2*depth
		default:
			size++
		}
	}
	return size
}

// componentMap is the key "map" of the values.
func componentMap(ws *workspace.Workspace, versions map[string]string) (mapping, error) {
	data, err := Map(ws.Components, versions)
	if err != nil {
		return nil, err
	}
	file := mapFile(ws)
	content := entry{"components", text(data)}
	if file == compressedMap {
		data = compress(data)
		content = entry{"gzip", base64.StdEncoding.EncodeToString(data)}
	}
	if len(data) > maxMap {
		return nil, &MapSizeError{Size: len(data)}
	}
	return mapping{{"directory", mapDirectory}, {"file", file}, content}, nil
}

// Map writes {id: {version, …contract}} over lines, by ID. It ends without a
// newline: Helm cuts off what a manifest ends with.
func Map(components []*workspace.Component, versions map[string]string) ([]byte, error) {
	entries := make([][]byte, len(components))
	for i, c := range components {
		entry, err := encodeComponent(c, versions[c.ID])
		if err != nil {
			return nil, fmt.Errorf("component %s: %w", c.ID, err)
		}
		entries[i] = append([]byte(quote(c.ID)+":"), entry...)
	}
	flat := slices.Concat([]byte("{"), bytes.Join(entries, []byte(",")), []byte("}"))
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, flat, "", "  "); err != nil {
		return nil, err
	}
	return []byte(escape(pretty.String())), nil
}

// encodeComponent puts the version before what the component declares, whose
// keys are sorted.
func encodeComponent(c *workspace.Component, version string) ([]byte, error) {
	if version == "" {
		return nil, errors.New("version is not known")
	}
	var declared map[string]json.RawMessage
	if len(c.Contract) > 0 {
		if err := json.Unmarshal(c.Contract, &declared); err != nil {
			return nil, fmt.Errorf("read contract: %w", err)
		}
	}
	delete(declared, "version") // a word of ours: it is what processes compare
	var b bytes.Buffer
	b.WriteString(`{"version":` + quote(version))
	for _, key := range slices.Sorted(maps.Keys(declared)) {
		b.WriteString("," + quote(key) + ":")
		b.Write(declared[key])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// compress gives equal bytes for equal data: the header holds no time and no name.
func compress(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(data)                                  // a Buffer can be written
	_ = w.Close()
	return b.Bytes()
}

// MapSizeError is a component map that no ConfigMap can hold.
type MapSizeError struct {
	// Size is that of the file in the ConfigMap, in bytes.
	Size int
}

func (e *MapSizeError) Error() string {
	return fmt.Sprintf("component map takes %d KiB, a ConfigMap holds %d KiB", (e.Size+1023)>>10, maxMap>>10)
}

// Hint is how to mend it.
func (e *MapSizeError) Hint() string {
	return "split the context, or shorten what manifests declare: descriptions and schemas weigh most"
}
