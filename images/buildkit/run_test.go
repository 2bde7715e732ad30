package buildkit_test

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// The image that was published runs, and does what the recipe says.
func TestTheImageRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dependencies := b.dependencies(t, "one", "echo made > /made")
	below := b.publish(t, b.builder, dependencies)
	step := on(dependencies, b.composition(t, "one", map[string]string{"store-goods": goods(t), "store-orders": orders(t)}))
	got := run(t, pull(t, b.publish(t, b.builder, step, below), host))
	want := "/composition\ntoa\ncompose\nstore-goods\nstore-orders\n--map\n/etc/toa/components.json\n"
	if got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}

// run runs an image with runc, as its config says, and returns what it prints.
func run(t *testing.T, image v1.Image) string {
	t.Helper()
	runc, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("no runc to run the image with: run test/setup runc")
	}
	bundle := t.TempDir()
	unpack(t, image, filepath.Join(bundle, "rootfs"))
	config := configOf(t, image).Config
	type object = map[string]any
	spec, err := json.Marshal(object{
		"ociVersion": "1.0.2",
		"root":       object{"path": "rootfs"},
		"process": object{
			"cwd": config.WorkingDir, "args": append(config.Entrypoint, config.Cmd...), "env": config.Env,
			"user": object{"uid": 0, "gid": 0},
		},
		"mounts": []object{{"destination": "/proc", "type": "proc", "source": "proc"}},
		"linux":  object{"namespaces": []object{{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), spec, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), runc, "--root", t.TempDir(), "run", "--bundle", bundle, "toa-"+filepath.Base(filepath.Dir(bundle)))
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("runc run: %v\n%s", err, out)
	}
	return string(out)
}

// unpack writes what an image holds into a directory.
func unpack(t *testing.T, image v1.Image, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	flat := mutate.Extract(image)
	defer func() { _ = flat.Close() }()
	for archive := tar.NewReader(flat); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = place(root, header, archive)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func place(root *os.Root, header *tar.Header, body io.Reader) error {
	name := filepath.Clean(header.Name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY, header.FileInfo().Mode().Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(file, body)
		return errors.Join(err, file.Close())
	default:
		return nil
	}
}
