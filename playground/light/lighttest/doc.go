// Package lighttest holds the light packages to the originals, where both can be had.
package lighttest
