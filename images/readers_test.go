package images_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"toa.io/toa/orchestrator"
)

// What the archive is for: the programs that it is said to be read by read it,
// and know the image by its full name.
func TestExportIsReadBy(t *testing.T) {
	_, data := exported(t, orchestrator.HostPlatform(), "linux/s390x")
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(archive, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(t *testing.T, archive string) string{
		"skopeo": readBySkopeo, "podman": readByPodman, "ctr": readByContainerd, "docker": readByDocker,
	} {
		t.Run(name, func(t *testing.T) {
			if said := read(t, archive); !strings.Contains(said, "shop/composition-edge") {
				t.Errorf("it does not know the image: %s", said)
			}
		})
	}
}

func readBySkopeo(t *testing.T, archive string) string {
	needs(t, "skopeo")
	for _, transport := range []string{"docker-archive", "oci-archive"} {
		tool(t, "skopeo", "--insecure-policy", "copy", transport+":"+archive, "dir:"+t.TempDir())
	}
	return tool(t, "skopeo", "list-tags", "docker-archive:"+archive)
}

func readByPodman(t *testing.T, archive string) string {
	needs(t, "podman")
	dir, err := os.MkdirTemp("", "podman-") // it takes no path of more than 50 characters
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	own := []string{"--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run"), "--storage-driver", "vfs"}
	t.Cleanup(func() { tool(t, "podman", append(own, "rmi", "--all", "--force")...) })
	tool(t, "podman", append(own, "load", "--input", archive)...)
	return tool(t, "podman", append(own, "images", "--noheading")...)
}

func readByContainerd(t *testing.T, archive string) string {
	needs(t, "containerd", "ctr")
	dir := t.TempDir()
	socket := filepath.Join(dir, "c.sock")
	files{"config.toml": "version = 2\nroot = '" + dir + "/root'\nstate = '" + dir + "/state'\ndisabled_plugins = ['io.containerd.grpc.v1.cri']\n" +
		"[grpc]\naddress = '" + socket + "'\n[ttrpc]\naddress = '" + dir + "/t.sock'\n"}.write(t, dir)
	daemon(t, "containerd", "--config", filepath.Join(dir, "config.toml"))
	answers(t, "ctr", "--address", socket, "version")
	tool(t, "ctr", "--address", socket, "images", "import", "--all-platforms", "--no-unpack", archive)
	return tool(t, "ctr", "--address", socket, "images", "list", "--quiet")
}

func readByDocker(t *testing.T, archive string) string {
	needs(t, "dockerd", "docker")
	dir := t.TempDir()
	host := "unix://" + filepath.Join(dir, "d.sock")
	daemon(t, "dockerd", "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"), "--pidfile", filepath.Join(dir, "pid"),
		"--host", host, "--storage-driver", "vfs", "--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false")
	answers(t, "docker", "--host", host, "version")
	tool(t, "docker", "--host", host, "load", "--input", archive)
	return tool(t, "docker", "--host", host, "images")
}

// needs skips where a program is missing, or what daemons may do.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s on this machine", program)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("daemons and storages of images take root")
	}
}

func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return string(out)
}

// daemon runs one until the test ends.
func daemon(t *testing.T, name string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	child := exec.Command(name, args...)
	child.Stdout, child.Stderr = &out, &out
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Signal(syscall.SIGTERM)
		_ = child.Wait()
		if t.Failed() {
			t.Logf("%s: %s", name, out.String())
		}
	})
}

// answers waits until a command succeeds.
func answers(t *testing.T, name string, args ...string) {
	t.Helper()
	deadline, ticker := time.Now().Add(time.Minute), time.NewTicker(100*time.Millisecond)
	defer ticker.Stop()
	for ; ; <-ticker.C {
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
	}
}
