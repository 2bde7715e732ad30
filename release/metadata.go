package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"toa.io/toa/chart"
	"toa.io/toa/document"
)

// metadataFile says what a chart is.
const metadataFile = "Chart.yaml"

// metadata is what registries and people are told of a chart.
type metadata struct {
	Name, Version, Description string
	// raw is all of it as JSON.
	raw json.RawMessage
}

// describe reads what a chart says of itself.
func describe(c *chart.Chart) (metadata, error) {
	at := slices.IndexFunc(c.Files, func(f chart.File) bool { return f.Path == metadataFile })
	if at < 0 {
		return metadata{}, errors.New("it has no " + metadataFile)
	}
	r := document.NewReader(metadataFile)
	value := r.Parse(c.Files[at].Data)
	if mistakes := r.Errors(); len(mistakes) > 0 {
		return metadata{}, mistakes[0]
	}
	m := metadata{Name: text(value, "name"), Version: text(value, "version"), Description: text(value, "description"), raw: value.JSON()}
	if m.Name == "" || m.Version == "" {
		return m, fmt.Errorf("%s states no name or no version", metadataFile)
	}
	return m, nil
}

// text is that of a field, or empty where there is none.
func text(object *document.Value, key string) string {
	field := object.Find(key)
	if field == nil || field.Value.Kind == document.Null {
		return ""
	}
	return field.Value.Text
}
