package cluster

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
)

// workerEnv makes the test binary the child that makes a release.
const workerEnv = "TOA_TEST_RELEASE_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Most tests wait for the cluster: more of them run at once than there are
	// processors. A -parallel on the command line still counts.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
