// Package light has no code: the packages below it take the place of heavy ones of client-go and
// apimachinery when the playground is compiled for a page. Package build has the list.
//
// A light package has the names that the code around it uses, and the same meaning where a page needs
// it. Where it doesn't, as with protobuf, it returns an error. They're compiled and vetted like all
// other packages here; lighttest holds them to the originals.
package light
