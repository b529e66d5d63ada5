// A deck: the look that the reader has chosen in the book, or the system's, and then reveal.js. A classic script, because
// it has to work from a folder.
(function () {
  'use strict'
  var chosen = null
  try { chosen = localStorage.getItem('vitepress-theme-appearance') } catch (refused) { /* some browsers have no storage in a folder */ }
  var system = matchMedia('(prefers-color-scheme: dark)')
  function look() { document.documentElement.classList.toggle('dark', chosen === 'dark' || chosen !== 'light' && system.matches) }
  look()
  system.addEventListener('change', look)

  addEventListener('DOMContentLoaded', function () {
    window.loopwrightBook.update()
    window.Reveal.initialize({
      width: 1280, height: 720, margin: 0, center: false, hash: true, transition: 'none', backgroundTransition: 'none',
      controls: false, slideNumber: 'c/t', plugins: [window.RevealNotes]
    })
  })
})()
