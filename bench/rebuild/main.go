// Command rebuild does the least that publishing many images anew needs: for each
// component of a workspace one layer is written, compressed and sent, then a
// config and a manifest. It looks at nothing that was there before, keeps nothing
// and checks nothing. As many are at work at a time as toa builds by default, and
// the compressor is toa's.
//
//	rebuild -C WORKSPACE HOST/PREFIX
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// jobs is how many images toa builds at a time by default.
const jobs = 4

func main() {
	dir := flag.String("C", ".", "workspace whose components are published")
	flag.Parse()
	if err := rebuild(context.Background(), *dir, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "rebuild:", err)
		os.Exit(1)
	}
}

func rebuild(ctx context.Context, workspace, target string) error {
	host, prefix, ok := strings.Cut(target, "/")
	if !ok {
		return fmt.Errorf("%q is no place to publish in: expected HOST/PREFIX", target)
	}
	components, err := filepath.Glob(filepath.Join(workspace, "components", "*"))
	if err != nil || len(components) == 0 {
		return fmt.Errorf("no components in %s: %w", workspace, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(jobs)
	for _, dir := range components {
		to := repository{host: host, name: prefix + "/" + filepath.Base(dir)}
		group.Go(func() error { return publish(ctx, to, dir) })
	}
	return group.Wait()
}

// publish sends an image of one directory.
func publish(ctx context.Context, to repository, dir string) error {
	layer, diffID, err := pack(dir)
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux",
		"config": map[string]any{"WorkingDir": "/composition", "Cmd": []string{"/bin/sh", "-c", "toa compose *"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{diffID}},
	})
	if err != nil {
		return err
	}
	for _, blob := range [][]byte{layer, config} {
		if err := to.upload(ctx, blob); err != nil {
			return err
		}
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2,
		"mediaType":     manifestType,
		"config":        described("application/vnd.oci.image.config.v1+json", config),
		"layers":        []any{described("application/vnd.oci.image.layer.v1.tar+gzip", layer)},
	})
	if err != nil {
		return err
	}
	return to.put(ctx, manifest)
}

func described(mediaType string, data []byte) map[string]any {
	return map[string]any{"mediaType": mediaType, "size": len(data), "digest": digest(data)}
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// pack is a directory as a layer, and the digest of what is compressed in it.
func pack(dir string) (layer []byte, diffID string, err error) {
	var out bytes.Buffer
	sum := sha256.New()
	if err := write(&out, sum, dir); err != nil {
		return nil, "", fmt.Errorf("pack %s: %w", dir, err)
	}
	return out.Bytes(), fmt.Sprintf("sha256:%x", sum.Sum(nil)), nil
}
