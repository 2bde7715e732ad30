package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"toa.io/toa/orchestrator"
)

// matrix is what `graph plan --matrix` prints: the value of `strategy.matrix` of
// a job of GitHub, of which each shard takes its own share. Who is to build what
// is settled once, whatever each machine knows of durations.
type matrix struct {
	Include []matrixShard `json:"include"`
}

type matrixShard struct {
	// Shard is "I/N", for --shard.
	Shard string `json:"shard"`
	// Images are separated by commas, for --only.
	Images string `json:"images"`
	// Seconds is how long they are expected to take one after the other; zero
	// where nothing is known.
	Seconds float64 `json:"seconds"`
}

// writeMatrix shares the images of a plan out among n machines, on one line.
func (s *session) writeMatrix(out io.Writer, plan *orchestrator.Plan, n int) error {
	plan.Pending()
	costs, measured := plan.Costs(s.index)
	m := matrix{Include: []matrixShard{}}
	for i, shard := range plan.Shards(n, costs) {
		if len(shard.Images) == 0 {
			continue
		}
		one := matrixShard{Shard: orchestrator.ShardOf{I: i + 1, N: n}.String(), Images: strings.Join(textsOf(shard.Images), ",")}
		if measured {
			one.Seconds = shard.Cost.Seconds()
		}
		m.Include = append(m.Include, one)
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode matrix: %w", err)
	}
	_, err = fmt.Fprintln(out, string(data))
	return err
}

func textsOf[T ~string](all []T) []string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = string(one)
	}
	return texts
}

// share are the images of this run's shard: as the file says. Without one they
// are shared out by what every machine can tell of the workspace alone; what each
// knows of durations is not the same, and may change from one shard to the next.
func (s *session) share(plan *orchestrator.Plan, f *buildFlags) ([]string, error) {
	shard, err := orchestrator.ParseShard(f.shard)
	if err != nil {
		return nil, err
	}
	if f.shards == "" {
		return textsOf(plan.Shards(shard.N, plan.Estimates())[shard.I-1].Images), nil
	}
	data, err := os.ReadFile(f.shards)
	if err != nil {
		return nil, &configurationError{fmt.Errorf("read shards: %w", err)}
	}
	m, err := parseMatrix(data)
	if err == nil {
		var images []string
		if images, err = m.of(shard); err == nil {
			return images, nil
		}
	}
	return nil, &configurationError{fmt.Errorf("%s: %w", f.shards, err)}
}

// parseMatrix reads what writeMatrix writes.
func parseMatrix(data []byte) (matrix, error) {
	var m matrix
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return matrix{}, fmt.Errorf("expected what `toa graph plan --matrix N` prints: %w", err)
	}
	if decoder.More() || m.Include == nil {
		return matrix{}, errors.New("expected what `toa graph plan --matrix N` prints: one object with include")
	}
	seen := map[string]bool{}
	for _, one := range m.Include {
		shard, err := orchestrator.ParseShard(one.Shard)
		if err != nil {
			return matrix{}, err
		}
		if seen[shard.String()] || one.Images == "" {
			return matrix{}, fmt.Errorf("shard %s is there twice, or has no images", shard)
		}
		seen[shard.String()] = true
	}
	return m, nil
}

// of are the images of one shard. One that is not there has nothing to do.
func (m matrix) of(shard orchestrator.ShardOf) ([]string, error) {
	for _, one := range m.Include {
		stated, err := orchestrator.ParseShard(one.Shard)
		if err != nil {
			return nil, err
		}
		if stated.N != shard.N {
			return nil, fmt.Errorf("it shares images out among %d, and this is shard %s", stated.N, shard)
		}
		if stated == shard {
			return strings.Split(one.Images, ","), nil
		}
	}
	return nil, nil
}
