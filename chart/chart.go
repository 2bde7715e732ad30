// Package chart fills the Helm chart that stands in this directory with what a
// workspace declares and with references of published images. It touches
// nothing but values.
//
// A Chart that exists has every image pinned by digest.
package chart

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"toa.io/toa/extensions"
	"toa.io/toa/graph"
	"toa.io/toa/workspace"
)

// Chart is a complete chart, ready to be packaged or applied.
type Chart struct {
	Name    string
	Version string
	// Files are all files of the chart in path order, Chart.yaml and
	// values.yaml included; paths are slash paths inside the chart.
	Files []File
}

// File is one file of a chart.
type File struct {
	Path string
	Data []byte
}

// Input is what a chart is made of.
type Input struct {
	Workspace *workspace.Workspace
	// Deployment is what runs. Nil means the workspace's compositions with the
	// variables that every process gets.
	Deployment *extensions.Deployment
	// References are the published images of all units, by ID, each
	// "repo:tag@sha256:…".
	References map[graph.ID]string
	// Versions are those of the components, by component ID: as stated, or 32
	// hex digits.
	Versions map[string]string
}

// The prefix "all:" is needed: without it _helpers.tpl is left out silently.
//
//go:embed all:templates values.schema.json
var embedded embed.FS

// New fills the chart. Its errors are those of Check and CheckDeployment,
// *UnpinnedError and *MapSizeError.
func New(in Input) (*Chart, error) {
	deployment := in.deployment()
	if err := Check(in.Workspace); err != nil {
		return nil, err
	}
	if err := CheckDeployment(in.Workspace, deployment); err != nil {
		return nil, err
	}
	values, err := values(in, deployment)
	if err != nil {
		return nil, err
	}
	shared, err := shared()
	if err != nil {
		return nil, fmt.Errorf("read templates: %w", err)
	}
	metadata := metadata(in.Workspace.Context)
	files := []File{{Path: "Chart.yaml", Data: metadata.encode()}}
	files = append(files, shared...)
	files = append(files, File{Path: "values.yaml", Data: append([]byte(aboutValues), values.encode()...)})
	return &Chart{
		Name:    Name(in.Workspace.Context.Name),
		Version: in.Workspace.Context.Version,
		Files:   files,
	}, nil
}

// Source is the text of all templates and of the schema. It is part of what a
// release is made of: where it differs, so does the chart.
func Source() string {
	files, err := shared()
	if err != nil {
		return ""
	}
	var text strings.Builder
	for _, f := range files {
		fmt.Fprintf(&text, "%s %d\n%s", f.Path, len(f.Data), f.Data)
	}
	return text.String()
}

// Name is the name of the chart, and of its release, of a context: its own as Helm
// and Kubernetes take it.
func Name(context string) string {
	return strings.ReplaceAll(strings.ToLower(context), "_", "-")
}

// metadata is Chart.yaml.
func metadata(c workspace.Context) mapping {
	m := mapping{{"apiVersion", "v2"}, {"name", Name(c.Name)}}
	if c.Description != "" {
		m = append(m, entry{"description", c.Description})
	}
	return append(m,
		entry{"type", "application"},
		entry{"version", c.Version},
		entry{"appVersion", c.Version},
	)
}

// shared are the files that all charts have in common, in path order.
func shared() ([]File, error) {
	var files []File
	err := fs.WalkDir(embedded, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := embedded.ReadFile(path)
		files = append(files, File{Path: path, Data: data})
		return err
	})
	return files, err
}
