// What pages do beside VitePress: enlarge diagrams, load the figures that run, and offer the playground.
// A classic script, because it has to work from a folder, where no module can be
// loaded. VitePress calls update() whenever it has put another page in place.
(function () {
  'use strict'
  var here = document.currentScript.src.replace(/[^/]*$/, '') // .../book/
  var loading = {}

  function load(address) {
    return loading[address] || (loading[address] = new Promise(function (done, failed) {
      var script = document.createElement('script')
      script.src = address
      script.onload = done
      script.onerror = function () {
        delete loading[address] // the next one who asks tries again
        failed(new Error('cannot load ' + address))
      }
      document.head.appendChild(script)
    }))
  }

  // A wide picture shrinks as long as its words can be read; after that it scrolls in its box.
  function offerLarger() {
    document.querySelectorAll('.diagram').forEach(function (diagram) {
      var svg = diagram.querySelector('svg')
      offerTo(diagram, svg, svg.viewBox.baseVal.width)
    })
  }

  // What does not fit, or is small, can be seen in a window of its own that Escape closes.
  function offerTo(diagram, svg, natural) {
    var old = diagram.querySelector('.diagram-larger')
    if (old) old.remove()
    if (svg.clientWidth > natural * 0.6 && diagram.scrollWidth <= diagram.clientWidth || innerWidth < 960) return // a phone has no larger window
    var button = document.createElement('button')
    button.className = 'diagram-larger'
    button.textContent = 'Enlarge'
    button.addEventListener('click', function () {
      var dialog = document.createElement('dialog')
      dialog.className = 'diagram-dialog'
      dialog.tabIndex = 0
      var whole = svg.cloneNode(true)
      whole.style.width = Math.max(natural * 0.65, Math.min(natural * 1.5, innerWidth * 0.96 - 60)) + 'px'
      dialog.appendChild(whole)
      dialog.addEventListener('click', function () { dialog.close() })
      dialog.addEventListener('close', function () { dialog.remove() })
      document.body.appendChild(dialog)
      dialog.showModal()
    })
    diagram.prepend(button)
  }

  // The menu shows where the reader is: VitePress marks the page, but leaves it below the fold.
  function place() {
    var sidebar = document.querySelector('.VPSidebar')
    var row = sidebar && sidebar.querySelector('.VPSidebarItem.is-active > .item')
    if (!row) return
    var frame = sidebar.getBoundingClientRect()
    var at = row.getBoundingClientRect()
    if (at.top < frame.top + 80 || at.bottom > frame.bottom - 40) sidebar.scrollTop += at.top - frame.top - frame.height / 3
  }

  // The playground is some MB, and nothing of it is loaded before a reader asks for it.
  function loadPlayground() { return load(here + '../playground/playground.js') }

  function make(tag, className, text) {
    var element = document.createElement(tag)
    element.className = className
    element.textContent = text
    return element
  }

  // A program of a chapter: a button, whose press brings <loop-run> to life.
  function offerRun(run) {
    if (run.firstChild || typeof WebAssembly !== 'object') return
    var needs = run.getAttribute('needs')
    if (needs) return run.append(make('p', 'run-offer', 'You can\u2019t run this one here: it needs ' + needs + '.'))
    var offer = make('p', 'run-offer', '')
    var button = make('button', 'run-here', 'Run it here')
    var note = make('span', '', 'The chapter\u2019s own program, in this page: PLAYGROUND_SIZE, once.' /* the build knows it */)
    button.addEventListener('click', function () {
      button.disabled = true
      loadPlayground().then(function () {
        run.open()
        offer.remove()
        run.addEventListener('close', function () { offerRun(run) }, { once: true })
      }).catch(function (problem) {
        button.disabled = false
        note.textContent = 'It can\u2019t be run: ' + problem.message + '. Press again, or run it with the command below.'
      })
    })
    offer.append(button, note)
    run.append(offer)
  }

  // The cluster starts by itself when the text can be read. Where each megabyte costs the reader money or time, it has a
  // button.
  function offerClusters() {
    var line = navigator.connection || {}
    var costs = line.saveData || line.type === 'cellular' || /2g|3g/.test(line.effectiveType)
    var idle = window.requestIdleCallback || function (then) { setTimeout(then, 1000) }
    function start() {
      idle(function () {
        loadPlayground().then(function () {
          if (!costs) document.querySelectorAll('loop-cluster').forEach(function (cluster) { cluster.start() })
        }).catch(function (problem) { console.error(problem) })
      })
    }
    if (document.readyState === 'complete') start()
    else addEventListener('load', start)
  }

  // What stands in the place of a cluster is the beginning of a film. Where there's no cluster, the film is worth its bytes.
  function showFilm(still) { still.src = still.src.replace(/\.gif\.png$/, '.gif') }

  function update() {
    setTimeout(place) // VitePress has marked the page then, and unfolded its part of the menu
    if (document.querySelector('loop-figure')) load(here + '../figures/figures.js').catch(function (problem) { console.error(problem) })
    offerLarger()
    document.querySelectorAll('loop-run').forEach(offerRun)
    if (typeof WebAssembly !== 'object') document.querySelectorAll('loop-cluster img').forEach(showFilm)
    else if (document.querySelector('loop-cluster')) offerClusters()
  }

  window.loopwrightBook = { update: update, place: place, load: load, here: here }
  if (location.protocol === 'file:') update()
})()
