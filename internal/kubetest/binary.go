package kubetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// directory is the environment variable that names the directory that
// test/cluster/build has filled.
const directory = "TOA_TEST_CLUSTER"

// find returns the path of the control plane: in the directory that is named,
// else in the one that test/setup has made of the sources as they stand.
func find(t testing.TB) string {
	t.Helper()
	binary, err := locate()
	if err != nil {
		t.Skipf("the test cluster has not been built, run make engines: %v", err)
	}
	return binary
}

var locate = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(directory); dir != "" {
		return exec.LookPath(filepath.Join(dir, "cluster"))
	}
	root, err := checkout()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(filepath.Join(root, "test", "setup"), "--where", "cluster").Output()
	if err != nil {
		return "", fmt.Errorf("test/setup --where cluster: %w", err)
	}
	return exec.LookPath(filepath.Join(strings.TrimSpace(string(out)), "cluster"))
})

// checkout is the directory above this one that has what builds the cluster.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find checkout: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "test", "cluster", "build")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("this is no checkout")
		}
		dir = filepath.Dir(dir)
	}
}
