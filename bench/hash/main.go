// Command hash hashes the components of a workspace with nothing known
// beforehand, and keeps what it learnt, as a first build does.
//
//	hash -db FILE -C DIR
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"toa.io/toa/cache"
)

func main() {
	db := flag.String("db", "", "cache file; it must not exist")
	root := flag.String("C", ".", "workspace")
	flag.Parse()
	debug.SetGCPercent(400) // as toa has it
	key, err := hash(*db, *root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hash:", err)
		os.Exit(1)
	}
	fmt.Println(key)
}

// hash returns one key of all components.
func hash(db, root string) (cache.Key, error) {
	if _, err := os.Lstat(db); err == nil {
		return cache.Key{}, fmt.Errorf("cache %s exists: this would not be cold", db)
	}
	dirs, err := components(root)
	if err != nil {
		return cache.Key{}, err
	}
	store := cache.OpenDB(db, nil)
	store.Volatile = true // as toa has it
	files, err := cache.OpenFiles(store, root)
	if err != nil {
		return cache.Key{}, err
	}
	defer files.Close() //nolint:errcheck // it only gives a descriptor back

	trees := make([]*cache.Tree, len(dirs))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, dir := range dirs {
		group.Go(func() (err error) {
			trees[i], err = files.Tree(cache.Rules{Dir: dir})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return cache.Key{}, err
	}
	files.Save()
	return combine(dirs, trees), nil
}

// components lists the directories of components as slash paths, sorted.
func components(root string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, "components"))
	if err != nil {
		return nil, fmt.Errorf("list components: %w", err)
	}
	var dirs []string
	for _, entry := range entries {
		if entry.IsDir() {
			dirs = append(dirs, "components/"+entry.Name())
		}
	}
	return dirs, nil
}

func combine(dirs []string, trees []*cache.Tree) cache.Key {
	all := cache.NewHasher("toa/bench-hash/v1")
	for i, dir := range dirs {
		all.Key(dir, trees[i].Key)
	}
	return all.Sum()
}
