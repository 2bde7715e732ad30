'use strict'

/** Makes the number of an invoice: the year and a short name of the order. */
function number (order, now) {
  const year = new Date(now).getUTCFullYear()

  return `${year}-${order.slice(-8).toUpperCase()}`
}

exports.number = number
