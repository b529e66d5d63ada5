// Package chapters measures what each chapter of the course builds, beside the library's and the original's: how long
// does one item take, and how does that grow?
//
//	make bench-6          # one table for chapter 6
//	make bench-6 MINE=1   # with your files in my/ beside mini's
//
// Benchmark06 is chapter 6's. Its sub-benchmarks are named question/size/who, and who is mini, library, client-go or
// controller-runtime. Nothing fails because a machine is slow.
//
// Neighbours: cmd/chapters runs them and prints the table. It stands on mini, on the library and on the originals.
package chapters
