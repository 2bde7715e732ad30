package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	helm "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"toa.io/toa/chart"
)

// Rendered is what Helm makes of a chart.
type Rendered struct {
	// Manifest is the text that `helm template` prints, byte for byte.
	Manifest string
	// Objects are those of the manifest, in the order in which they are applied.
	Objects []*unstructured.Unstructured

	release *helmrelease.Release
}

// Render renders a chart without a cluster; equal charts give equal manifests.
// The release is named as the chart is. An error names the template or the
// value that is at fault.
func Render(c *chart.Chart, namespace string) (*Rendered, error) {
	loaded, err := load(c)
	if err != nil {
		return nil, err
	}
	install := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	install.DryRun, install.ClientOnly, install.Replace = true, true, true
	install.ReleaseName, install.Namespace = c.Name, namespace
	made, err := install.Run(loaded, nil)
	if err != nil {
		return nil, fmt.Errorf("render chart: %w", err)
	}
	objects, err := Objects(made.Manifest)
	if err != nil {
		return nil, fmt.Errorf("render chart: %w", err)
	}
	return &Rendered{Manifest: strings.TrimSpace(made.Manifest) + "\n", Objects: objects, release: made}, nil
}

// load reads a chart as Helm does, with no package in between.
func load(c *chart.Chart) (*helm.Chart, error) {
	files := make([]*loader.BufferedFile, len(c.Files))
	for i, file := range c.Files {
		files[i] = &loader.BufferedFile{Name: file.Path, Data: file.Data}
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("load chart: %w", err)
	}
	return loaded, nil
}

// Objects reads the objects of a manifest, in its order. Numbers without a
// fraction are int64.
func Objects(manifest string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for n := 1; ; n++ {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		object, err := decode(text)
		if err != nil {
			return nil, fmt.Errorf("read document %d of the manifest: %w", n, err)
		}
		if object != nil {
			objects = append(objects, object)
		}
	}
}

// decode reads one document; nil where it holds nothing but comments.
func decode(text []byte) (*unstructured.Unstructured, error) {
	encoded, err := yaml.ToJSON(text)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(bytes.TrimSpace(encoded), []byte("null")) {
		return nil, nil
	}
	object := new(unstructured.Unstructured)
	if err := object.UnmarshalJSON(encoded); err != nil {
		return nil, err
	}
	return object, nil
}
