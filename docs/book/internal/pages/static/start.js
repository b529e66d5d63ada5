// The last thing on each page: on a server it starts VitePress, from a folder the
// small script that does the same with less.
(function () {
  'use strict'
  var script = document.currentScript
  var root = script.src.replace(/book\/start\.js$/, '')

  if (location.protocol === 'file:') {
    var folder = document.createElement('script')
    folder.src = root + 'book/folder.js'
    folder.dataset.base = script.dataset.base
    document.body.appendChild(folder)
    return
  }

  // VitePress writes the links of the menu anew when it starts. The picture in the tab
  // is left to us: VitePress changes the address without loading a page.
  document.querySelectorAll('link[rel=icon]').forEach(function (link) { link.setAttribute('href', link.href) })
  var modules = script.dataset.modules.split(' ')
  modules.slice(1).forEach(function (module) {
    var early = document.createElement('link')
    early.rel = 'modulepreload'
    early.href = root + module
    document.head.appendChild(early)
  })
  import(root + modules[0])
})()
